"""Runs in folders and buckets that several machines share.

object_store  objects in a folder or a bucket: s3://, gs://, az://, file://
block_file    the result of a block, as one object
run_mirror    a run at a URL, and its copy in a folder of this machine
run_places    runs that a user names by folder or URL, for readers and learners
"""
