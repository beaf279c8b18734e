function derivatives(t, state, constants, memory)
  local bob_q1 = state[1]
  local bob_u1 = state[2]
  local c1 = constants[1]
  return {bob_u1, -c1*math.sin(bob_q1)}
end
