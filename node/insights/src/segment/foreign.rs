//! What are the rows of a Parquet file that any program wrote? Records by the names of their columns.

use super::plain::told;
use parquet::basic::{Compression, LogicalType, TimeUnit};
use parquet::data_type::Decimal;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use serde_json::{Map, Number, Value};
use std::collections::HashSet;
use std::fs::File;
use std::io;

/// Reads a file row after row, as objects: times as Unix milliseconds, amounts as digits, bytes in hexadecimal digits, nothing for
/// what is null. Errors: `InvalidData`, also for pages whose compression is not read. Cost: a row group is open at a time.
pub fn foreign_rows(file: File) -> io::Result<impl Iterator<Item = io::Result<Map<String, Value>>>> {
    let reader = SerializedFileReader::new(file).map_err(told)?;
    let groups = reader.metadata().row_groups().iter();
    let mut compressions = groups.flat_map(|group| group.columns()).map(|column| column.compression());
    let is_read =
        |it: &Compression| matches!(it, Compression::UNCOMPRESSED | Compression::LZ4 | Compression::LZ4_RAW);
    if let Some(other) = compressions.find(|it| !is_read(it)) {
        let name = format!("{other:?}");
        let name = name.split('(').next().unwrap_or_default();
        let text = format!("its pages are compressed with {name}: write it with LZ4 or without compression");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let columns = reader.metadata().file_metadata().schema().get_fields().iter();
    let nanoseconds =
        columns.filter(|column| is_in_nanoseconds(column)).map(|column| column.name().to_owned());
    let nanoseconds: HashSet<String> = nanoseconds.collect();
    let rows = RowIter::from_file_into(Box::new(reader));
    Ok(rows.map(move |row| {
        let mut members = object(&row.map_err(told)?);
        for (_, value) in members.iter_mut().filter(|(name, _)| nanoseconds.contains(*name)) {
            if let Some(time) = value.as_i64() {
                *value = time.div_euclid(1_000_000).into();
            }
        }
        Ok(members)
    }))
}
/// Whether a column holds times that the reader gives back as bare numbers.
fn is_in_nanoseconds(column: &Type) -> bool {
    let logical = column.get_basic_info().logical_type_ref();
    matches!(logical, Some(LogicalType::Timestamp(time)) if matches!(time.unit, TimeUnit::NANOS))
}

fn object(row: &Row) -> Map<String, Value> {
    let members = row.get_column_iter().map(|(name, field)| (name.clone(), value(field)));
    members.filter(|(_, value)| !value.is_null()).collect()
}

fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => Value::Bool(*value),
        Field::Byte(value) => (*value).into(),
        Field::Short(value) => (*value).into(),
        Field::Int(value) => (*value).into(),
        Field::Long(value) => (*value).into(),
        Field::UByte(value) => (*value).into(),
        Field::UShort(value) => (*value).into(),
        Field::UInt(value) => (*value).into(),
        Field::ULong(value) => (*value).into(),
        Field::Float16(value) => float(value.to_f64()),
        Field::Float(value) => float(f64::from(*value)),
        Field::Double(value) => float(*value),
        Field::Decimal(value) => digits(value).map_or(Value::Null, Value::String),
        Field::Str(text) => Value::String(text.clone()),
        Field::Bytes(bytes) => Value::String(hexadecimal(bytes.data())),
        Field::Date(days) => (i64::from(*days) * 86_400_000).into(),
        Field::TimeMillis(value) => (*value).into(),
        Field::TimeMicros(value) => (*value).into(),
        Field::TimestampMillis(value) => (*value).into(),
        Field::TimestampMicros(value) => value.div_euclid(1_000).into(),
        Field::Group(row) => Value::Object(object(row)),
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        Field::MapInternal(_) => Value::Null,
    }
}

fn float(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}
fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
/// The digits of an amount without zeros that say nothing; `None` of one with more than 128 bits.
fn digits(amount: &Decimal) -> Option<String> {
    let bytes = amount.data();
    let fill = if bytes.first().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
    let mut whole = [fill; 16];
    whole.get_mut(16_usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    let unscaled = i128::from_be_bytes(whole);
    let scale = usize::try_from(amount.scale()).ok()?;
    let sign = if unscaled < 0 { "-" } else { "" };
    let text = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (before, after) = text.split_at(text.len() - scale);
    let after = after.trim_end_matches('0');
    Some(if after.is_empty() { format!("{sign}{before}") } else { format!("{sign}{before}.{after}") })
}

#[cfg(test)]
mod tests {
    use super::super::PlainWriter;
    use super::*;
    use crate::rows::tests::any_row;
    use parquet::data_type::Int64Type;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use proptest::prelude::*;
    use quorate_model::event::TextList;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn amounts_become_digits() {
        for (unscaled, scale, expected) in [
            (0, 2, "0"),
            (1_999, 2, "19.99"),
            (-5, 2, "-0.05"),
            (1_500, 3, "1.5"),
            (7, 0, "7"),
            (-1_200_000_000_000_000_000_i128, 15, "-1200"),
        ] {
            let bytes = unscaled.to_be_bytes().to_vec();
            assert_eq!(digits(&Decimal::from_bytes(bytes.into(), 38, scale)).as_deref(), Some(expected));
        }
        assert_eq!(digits(&Decimal::from_i32(-1_999, 9, 2)).as_deref(), Some("-19.99"));
    }

    #[test]
    fn times_in_nanoseconds_become_milliseconds() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("times.parquet");
        let schema = "message m { REQUIRED INT64 time (TIMESTAMP(NANOS,true)); REQUIRED INT64 n; }";
        let schema = Arc::new(parse_message_type(schema).expect("a schema"));
        let file = File::create(&path).expect("created");
        let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).expect("begun");
        let mut group = writer.next_row_group().expect("a group");
        for values in [[1_600_000_000_123_456_789_i64, -1], [7, 8]] {
            let mut column = group.next_column().expect("no error").expect("a column");
            column.typed::<Int64Type>().write_batch(&values, None, None).expect("written");
            column.close().expect("closed");
        }
        group.close().expect("closed");
        writer.close().expect("whole");
        let rows: Vec<_> = foreign_rows(File::open(&path).expect("there")).expect("Parquet").collect();
        let rows: Vec<_> = rows.into_iter().map(|row| Value::Object(row.expect("a row"))).collect();
        let expected = [json!({"time": 1_600_000_000_123_i64, "n": 7}), json!({"time": -1, "n": 8})];
        assert_eq!(rows, expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn own_rows_have_their_members(rows in prop::collection::vec(any_row(), 1..50)) {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("rows.parquet");
            let mut writer = PlainWriter::new(File::create(&path).expect("created")).expect("begun");
            rows.iter().cloned().try_for_each(|row| writer.push(row)).expect("written");
            writer.finish().expect("whole");
            let found: Vec<_> = foreign_rows(File::open(&path).expect("there")).expect("Parquet").collect();
            prop_assert_eq!(found.len(), rows.len());
            for (found, row) in found.into_iter().zip(rows) {
                let found = found.expect("a row");
                prop_assert_eq!(&found["index"], &json!(&*row.index));
                prop_assert_eq!(&found["time"], &json!(row.time_ms));
                prop_assert_eq!(&found["user_hash"], &json!(row.user_hash));
                prop_assert_eq!(found.get("query_id").cloned(), row.query_id.map(|id| json!(id.to_string())));
                prop_assert_eq!(found.get("position").cloned(), row.position.map(|position| json!(position)));
                let shown = row.search.as_ref().map_or_else(TextList::default, |search| search.shown.clone());
                prop_assert_eq!(&found["shown"], &json!(shown));
            }
        }
    }
}
