"""More files that must be refused: GeoTIFF, NetCDF, HDF5, Zarr groups and ENVI spectral libraries."""

SUFFIXES = (".tif", ".tiff", ".nc", ".nc4", ".h5", ".hdf5", ".he5")
