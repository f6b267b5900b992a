"""What may be asked of M, whatever holds it: a dense array, a sparse one, or chunks that are read lazily.

`as_matrix` is the only place that looks at the kind of container. Everything behind it works on a `Matrix`.
"""

# Public names are in `__all__`; the others are for the rest of the library.
from sepnmf.matrix._as_matrix import MatrixLike, as_matrix
from sepnmf.matrix._as_matrix import complete_array as complete_array
from sepnmf.matrix._as_matrix import dense_data as dense_data
from sepnmf.matrix._chunked import HELD as HELD
from sepnmf.matrix._chunked import SMALL as SMALL
from sepnmf.matrix._chunked import Chunked
from sepnmf.matrix._columns import Columns as Columns
from sepnmf.matrix._containers import SPECTRAL as SPECTRAL
from sepnmf.matrix._containers import Container as Container
from sepnmf.matrix._containers import check_columns as check_columns
from sepnmf.matrix._containers import container_of as container_of
from sepnmf.matrix._containers import labelled as labelled
from sepnmf.matrix._containers import take_columns as take_columns
from sepnmf.matrix._dense import Dense, InMemory
from sepnmf.matrix._dense import column_blocks as column_blocks
from sepnmf.matrix._dense import exponents as exponents
from sepnmf.matrix._dense import with_fixed_signs as with_fixed_signs
from sepnmf.matrix._extremes import Extremes as Extremes
from sepnmf.matrix._held import Held as Held
from sepnmf.matrix._held import Ranked as Ranked
from sepnmf.matrix._indices import refuse_wrong_indices as refuse_wrong_indices
from sepnmf.matrix._known import NONE_KNOWN as NONE_KNOWN
from sepnmf.matrix._known import Known as Known
from sepnmf.matrix._known import check_counts as check_counts
from sepnmf.matrix._known import column_indices as column_indices
from sepnmf.matrix._known import known_columns as known_columns
from sepnmf.matrix._lazy import is_lazy as is_lazy
from sepnmf.matrix._lazy import lazy_array as lazy_array
from sepnmf.matrix._matrix import Matrix
from sepnmf.matrix._matrix import Negative as Negative
from sepnmf.matrix._passes import Block as Block
from sepnmf.matrix._passes import Part as Part
from sepnmf.matrix._passes import Reducer as Reducer
from sepnmf.matrix._reducers import Drawn as Drawn
from sepnmf.matrix._reducers import Squares as Squares
from sepnmf.matrix._reducers import concatenated as concatenated
from sepnmf.matrix._sparse import Sparse
from sepnmf.matrix._spectrum import Spectrum as Spectrum
from sepnmf.matrix._spectrum import leading_spectrum as leading_spectrum
from sepnmf.matrix._stored import CHUNK as CHUNK
from sepnmf.matrix._stored import LARGE as LARGE
from sepnmf.matrix._stored import Stored as Stored
from sepnmf.matrix._stored import in_chunks as in_chunks
from sepnmf.matrix._stored import native as native

__all__ = ["Chunked", "Dense", "InMemory", "Matrix", "MatrixLike", "Sparse", "as_matrix"]
