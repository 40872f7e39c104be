//! Columns of plain values as Arrow has them.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int8Array, Int32Array, Int64Array,
    ListArray, StringArray, StructArray, TimestampMicrosecondArray,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field, Fields};

pub fn maybe_int8(values: Vec<Option<i8>>) -> ArrayRef {
    Arc::new(Int8Array::from(values))
}

pub fn int32(values: Vec<i32>) -> ArrayRef {
    Arc::new(Int32Array::from(values))
}

pub fn int64(values: Vec<i64>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}

pub fn maybe_int64(values: Vec<Option<i64>>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}

pub fn float(values: Vec<f64>) -> ArrayRef {
    Arc::new(Float64Array::from(values))
}

pub fn maybe_float(values: Vec<Option<f64>>) -> ArrayRef {
    Arc::new(Float64Array::from(values))
}

pub fn truth(values: Vec<bool>) -> ArrayRef {
    Arc::new(BooleanArray::from(values))
}

pub fn text<T: AsRef<str>>(values: &[T]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

pub fn maybe_text<T: AsRef<str>>(values: &[Option<T>]) -> ArrayRef {
    Arc::new(StringArray::from_iter(values.iter().map(|it| it.as_ref().map(AsRef::as_ref))))
}

/// Days since 1970.
pub fn date(values: Vec<i32>) -> ArrayRef {
    Arc::new(Date32Array::from(values))
}

/// Microseconds since 1970.
pub fn moment(values: Vec<i64>) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(values).with_timezone("UTC"))
}

/// Lists of rows that stand one after the other in `columns`.
pub fn lists(fields: Fields, lengths: &[usize], columns: Vec<ArrayRef>) -> ArrayRef {
    let item = Arc::new(Field::new("item", DataType::Struct(fields.clone()), true));
    let rows = StructArray::new(fields, columns, None);
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(item, offsets, Arc::new(rows), None))
}

pub fn maybe_int32(values: Vec<Option<i32>>) -> ArrayRef {
    Arc::new(Int32Array::from(values))
}
