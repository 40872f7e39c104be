//! Rows as a Parquet file.

use anyhow::Result;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use datafusion::parquet::basic::{Compression, Encoding, ZstdLevel};
use datafusion::parquet::file::properties::{EnabledStatistics, WriterProperties};
use datafusion::parquet::schema::types::ColumnPath;

use super::Table;

/// Rows that are compressed, and passed over, together.
const GROUP_ROWS: usize = 1 << 20;

/// Columns that hardly repeat, but grow.
const GROWING: [&str; 3] = ["birth_us", "lifetime_us", "start"];

/// The file with these rows, which are of that table.
///
/// # Errors
/// If they are not.
pub fn parquet(table: Table, batches: &[RecordBatch]) -> Result<Vec<u8>> {
    let mut writer = ArrowWriter::try_new(Vec::new(), table.schema(), Some(properties()?))?;
    for batch in batches {
        writer.write(batch)?;
    }
    Ok(writer.into_inner()?)
}

fn properties() -> Result<WriterProperties> {
    let mut properties = WriterProperties::builder()
        .set_created_by("lifetrace-fleet".to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_dictionary_page_size_limit(4 << 20)
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for name in GROWING {
        let column = ColumnPath::from(name);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    Ok(properties.build())
}

/// The rows of a file.
///
/// # Errors
/// If it is no Parquet file, or is damaged.
pub fn read(bytes: Vec<u8>) -> Result<Vec<RecordBatch>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes_of(bytes))?.build()?;
    Ok(reader.collect::<Result<_, _>>()?)
}

fn bytes_of(bytes: Vec<u8>) -> bytes::Bytes {
    bytes.into()
}
