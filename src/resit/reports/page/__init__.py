"""The web page: see every answer, trust every number."""
