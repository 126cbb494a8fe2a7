"""The commands of ``mercer`` that are about a user's own tables: learn, predict, show, similar."""
