"""Programs written out in other languages, and functional mock-up units."""
