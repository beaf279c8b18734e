"""Small and large quantities: terms that are dropped, and the record of them."""
