"""Original against release: what is it still good for?"""
