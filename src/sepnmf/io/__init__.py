"""Files people have: npy, npz, csv, tsv, parquet, mat, ENVI and mtx."""
