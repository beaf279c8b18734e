"""A function that puts the results of another one into matrices, beside numbers that never change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armillary.llvm.instructions import real

# −0.0 + 0.0 is 0.0: a zero has no sign where users see it.
_FUNCTION = """
@{name}_places = internal constant [{count} x i32] [{places}]
define void @{name}(double %t, ptr %state, ptr %constants, ptr %memory, ptr %out) nounwind {{
entry:
  %found = alloca [{room} x double], align 64
  call void @{source}(double %t, ptr %state, ptr %constants, ptr %memory, ptr %found)
{numbers}
  %any = icmp ne i64 {count}, 0
  br i1 %any, label %next, label %end
next:
  %i = phi i64 [ 0, %entry ], [ %more, %next ]
  %p = getelementptr inbounds i32, ptr @{name}_places, i64 %i
  %place = load i32, ptr %p
  %f = getelementptr inbounds double, ptr %found, i32 %place
  %value = load double, ptr %f
  %plain = fadd double %value, 0.0
  %o = getelementptr inbounds double, ptr %out, i64 %i
  store double %plain, ptr %o
  %more = add nuw nsw i64 %i, 1
  %left = icmp ult i64 %more, {count}
  br i1 %left, label %next, label %end
end:
  ret void
}}
"""


@dataclass(frozen=True)
class MatrixPlacement:
    """Elements of matrices, one matrix after the other and row by row: the place of each among the results of
    the function ``source``, or −1 − j for the j-th of the ``numbers``.
    """

    source: str
    places: Sequence[int]
    numbers: Sequence[float]

    def text(self, name: str, length: int) -> str:
        """A function ``name``, where ``source`` has so many results."""
        numbers = []
        for j, number in enumerate(self.numbers):
            numbers += [
                f"  %c{j} = getelementptr inbounds double, ptr %found, i64 {length + j}",
                f"  store double {real(number)}, ptr %c{j}",
            ]
        places = [f"i32 {place if place >= 0 else length - 1 - place}" for place in self.places]
        return _FUNCTION.format(
            name=name,
            source=self.source,
            count=len(places),
            places=", ".join(places),
            room=length + len(self.numbers),
            numbers="\n".join(numbers),
        )
