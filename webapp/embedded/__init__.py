"""Everything on one machine: PostgreSQL and Redis from their wheels, and one supervisor over all.

Besides `bootstrap` nothing here imports Django: these processes start before there is a database.
"""
