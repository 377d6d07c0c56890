"""What knows PyTorch. Imported by those who use it, never by `import assay`."""
