"""The holder's commands of ``shoal registry``."""
