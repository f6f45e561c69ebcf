"""How an FC store keeps matrices in few files.

A piece of work leaves one file with its matrices and what became of them. When all pieces of a
*shard* (many blocks of samples) are there, they become one file per operator and one record per
family, and the files of the pieces go. Readers find matrices wherever they are.
"""
