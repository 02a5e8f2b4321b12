//! How do rows lie in the columns of a Parquet file? One table of columns says how each is written and read.

use super::{EventRow, RowKind, SearchRow, Text};
use bytes::Bytes;
use parquet::column::reader::ColumnReader;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type,
    Int64Type,
};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::RowGroupReader;
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedRowGroupWriter;
use quorate_model::event::{Money, QueryId, TextList};
use std::io::Write;
use std::ops::Range;

/// The columns, for whoever opens a file: names and types are what other programs see, so they stay.
pub(crate) const SCHEMA: &str = "message rows {
    required binary index (UTF8);
    required int64 user_hash (INTEGER(64,false));
    required binary user (UTF8);
    optional binary authenticated_user (UTF8);
    required int64 time (TIMESTAMP(MILLIS,true));
    required boolean is_timed;
    required binary kind (UTF8);
    optional binary event (UTF8);
    optional binary object (UTF8);
    optional int32 position (INTEGER(32,false));
    optional fixed_len_byte_array(16) query_id (UUID);
    optional fixed_len_byte_array(16) value (DECIMAL(38,15));
    optional fixed_len_byte_array(16) price (DECIMAL(38,15));
    optional int32 quantity (INTEGER(32,false));
    optional fixed_len_byte_array(16) discount (DECIMAL(38,15));
    optional binary currency (UTF8);
    optional binary filter (UTF8);
    optional binary query (UTF8);
    optional int64 hits (INTEGER(64,false));
    repeated binary shown (UTF8);
    repeated binary tags (UTF8);
    optional binary country (UTF8);
    repeated fixed_len_byte_array(16) query_ids (UUID);
    required int64 fingerprint (INTEGER(64,false));
    required int64 log_index (INTEGER(64,false));
    repeated binary filters (UTF8);
    optional boolean stands;
}";
/// Columns of files that were written before searches had filters.
const FIRST_COLUMNS: usize = 25;
/// All columns.
pub(crate) const COLUMNS: usize = 27;
/// Where some columns are.
const USER_HASH: usize = 1;
const PSEUDONYM: usize = 3;
const TIME: usize = 4;
const LOG_INDEX: usize = 24;

/// Writes rows as one row group, in the order of [`SCHEMA`].
pub(crate) fn write<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[EventRow],
) -> Result<()> {
    let mut to = Writer { group, rows };
    to.each::<ByteArrayType>(|row| bytes(&row.index))?;
    to.each::<Int64Type>(|row| row.user_hash as i64)?;
    to.each::<ByteArrayType>(|row| bytes(&row.user))?;
    to.some::<ByteArrayType>(|row| row.authenticated.as_ref().map(bytes))?;
    to.each::<Int64Type>(|row| row.time_ms as i64)?;
    to.each::<BoolType>(|row| row.is_timed)?;
    to.each::<ByteArrayType>(|row| ByteArray::from(row.kind.name()))?;
    to.some::<ByteArrayType>(|row| row.event.as_ref().map(bytes))?;
    to.some::<ByteArrayType>(|row| row.object.as_ref().map(bytes))?;
    to.some::<Int32Type>(|row| row.position.map(|position| position as i32))?;
    to.some::<FixedLenByteArrayType>(|row| row.query_id.map(uuid))?;
    to.some::<FixedLenByteArrayType>(|row| row.value.map(decimal))?;
    to.some::<FixedLenByteArrayType>(|row| row.price.map(decimal))?;
    to.some::<Int32Type>(|row| row.quantity.map(|quantity| quantity as i32))?;
    to.some::<FixedLenByteArrayType>(|row| row.discount.map(decimal))?;
    to.some::<ByteArrayType>(|row| row.currency.as_ref().map(bytes))?;
    to.some::<ByteArrayType>(|row| row.filter.as_ref().map(bytes))?;
    to.some::<ByteArrayType>(|row| row.search.as_ref().map(|search| bytes(&search.query)))?;
    to.some::<Int64Type>(|row| row.search.as_ref().map(|search| search.hits as i64))?;
    to.many::<ByteArrayType>(|search, out| texts(&search.shown, out))?;
    to.many::<ByteArrayType>(|search, out| texts(&search.tags, out))?;
    to.some::<ByteArrayType>(|row| {
        row.search.as_ref().and_then(|search| search.country.as_ref().map(bytes))
    })?;
    to.many::<FixedLenByteArrayType>(|search, out| out.extend(search.query_ids.iter().copied().map(uuid)))?;
    to.each::<Int64Type>(|row| row.fingerprint as i64)?;
    to.each::<Int64Type>(|row| row.log_index as i64)?;
    to.many::<ByteArrayType>(|search, out| texts(&search.filters, out))?;
    to.some::<BoolType>(|row| row.search.as_ref().map(|search| search.stands))
}

/// Which members of rows are read, beside those that all rows have, the pseudonym and the id of a search: others are as if they had no
/// value. What a report does not look at is most of what a row costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// What only searches have.
    pub searches: bool,
    /// Of these the records shown.
    pub shown: bool,
    /// What only events have: name, record, position, amounts, filter.
    pub events: bool,
}

impl Parts {
    /// Everything.
    pub const ALL: Parts = Parts { searches: true, shown: true, events: true };
    /// Nothing but what all rows have.
    pub const NONE: Parts = Parts { searches: false, shown: false, events: false };
}

/// Reads rows of a row group, by their places there. Errors: the columns do not hold rows.
pub(crate) fn read(group: &dyn RowGroupReader, places: Range<usize>, parts: Parts) -> Result<Vec<EventRow>> {
    let mut from =
        Reader { group, next: 0, is_wanted: true, skip: places.start, rows: vec![empty(); places.len()] };
    let mut last = Last::default();
    from.each::<ByteArrayType>(|row, value| last.text(&value, |text| row.index = text))?;
    from.each::<Int64Type>(|row, value| put(&mut row.user_hash, value as u64))?;
    from.each::<ByteArrayType>(|row, value| last.text(&value, |text| row.user = text))?;
    from.some::<ByteArrayType>(|row, value| last.text(&value, |text| row.authenticated = Some(text)))?;
    from.each::<Int64Type>(|row, value| put(&mut row.time_ms, value as u64))?;
    from.each::<BoolType>(|row, value| put(&mut row.is_timed, value))?;
    from.each::<ByteArrayType>(|row, value| {
        let kind = RowKind::named(utf8(&value)?);
        put(&mut row.kind, kind.ok_or_else(|| wrong("kind"))?)
    })?;
    from.is_wanted = parts.events;
    from.some::<ByteArrayType>(|row, value| last.text(&value, |text| row.event = Some(text)))?;
    from.some::<ByteArrayType>(|row, value| last.text(&value, |text| row.object = Some(text)))?;
    from.some::<Int32Type>(|row, value| put(&mut row.position, Some(value as u32)))?;
    from.is_wanted = true;
    from.some::<FixedLenByteArrayType>(|row, value| put(&mut row.query_id, Some(query_id(&value)?)))?;
    from.is_wanted = parts.events;
    from.some::<FixedLenByteArrayType>(|row, value| put(&mut row.value, Some(money(&value)?)))?;
    from.some::<FixedLenByteArrayType>(|row, value| put(&mut row.price, Some(money(&value)?)))?;
    from.some::<Int32Type>(|row, value| put(&mut row.quantity, Some(value as u32)))?;
    from.some::<FixedLenByteArrayType>(|row, value| put(&mut row.discount, Some(money(&value)?)))?;
    from.some::<ByteArrayType>(|row, value| last.text(&value, |text| row.currency = Some(text)))?;
    from.some::<ByteArrayType>(|row, value| last.text(&value, |text| row.filter = Some(text)))?;
    from.is_wanted = parts.searches;
    from.some::<ByteArrayType>(|row, value| last.text(&value, |text| search(row).query = text))?;
    from.some::<Int64Type>(|row, value| put(&mut search(row).hits, value as u64))?;
    from.is_wanted = parts.searches && parts.shown;
    from.many::<ByteArrayType>(|row, value| push(&mut search(row).shown, &value))?;
    from.is_wanted = parts.searches;
    from.many::<ByteArrayType>(|row, value| push(&mut search(row).tags, &value))?;
    from.some::<ByteArrayType>(|row, value| last.text(&value, |text| search(row).country = Some(text)))?;
    from.many::<FixedLenByteArrayType>(|row, value| {
        search(row).query_ids.push(query_id(&value)?);
        Ok(())
    })?;
    from.is_wanted = true;
    from.each::<Int64Type>(|row, value| put(&mut row.fingerprint, value as u64))?;
    from.each::<Int64Type>(|row, value| put(&mut row.log_index, value as u64))?;
    if group.num_columns() > FIRST_COLUMNS {
        from.is_wanted = parts.searches;
        from.many::<ByteArrayType>(|row, value| push(&mut search(row).filters, &value))?;
        from.some::<BoolType>(|row, value| put(&mut search(row).stands, value))?;
    }
    Ok(from.rows)
}

/// The hashes of the users of the first rows of a row group.
pub(crate) fn user_hashes(group: &dyn RowGroupReader, count: usize) -> Result<Vec<u64>> {
    let (values, ..) = column::<Int64Type>(group, USER_HASH, 0, count)?;
    Ok(values.into_iter().map(|hash| hash as u64).collect())
}
/// Whether a pseudonym of the first rows of a row group is one of some. Cost: of a row group that has none, a look at what is known of it.
pub(crate) fn has_pseudonym(
    group: &dyn RowGroupReader,
    count: usize,
    is_one: impl Fn(&str) -> bool,
) -> Result<bool> {
    let nulls = group.metadata().column(PSEUDONYM).statistics().and_then(Statistics::null_count_opt);
    if nulls == Some(count as u64) {
        return Ok(false);
    }
    let (values, ..) = column::<ByteArrayType>(group, PSEUDONYM, 0, count)?;
    for value in &values {
        if is_one(utf8(value)?) {
            return Ok(true);
        }
    }
    Ok(false)
}
/// The least and the greatest time and log index of a row group, if they are known without reading it.
pub(crate) fn bounds(group: &RowGroupMetaData) -> Option<[[u64; 2]; 2]> {
    let of = |place: usize| match group.column(place).statistics()? {
        Statistics::Int64(of) => Some([*of.min_opt()? as u64, *of.max_opt()? as u64]),
        _ => None,
    };
    Some([of(TIME)?, of(LOG_INDEX)?])
}

fn put<T>(member: &mut T, value: T) -> Result<()> {
    *member = value;
    Ok(())
}
fn search(row: &mut EventRow) -> &mut SearchRow {
    row.search.get_or_insert_default()
}
fn empty() -> EventRow {
    EventRow {
        index: Text::default(),
        user_hash: 0,
        user: Text::default(),
        authenticated: None,
        time_ms: 0,
        is_timed: false,
        kind: RowKind::Search,
        event: None,
        object: None,
        position: None,
        query_id: None,
        value: None,
        price: None,
        quantity: None,
        discount: None,
        currency: None,
        filter: None,
        search: None,
        fingerprint: 0,
        log_index: 0,
    }
}

fn bytes(text: &Text) -> ByteArray {
    ByteArray::from(&**text)
}
fn texts(texts: &TextList, out: &mut Vec<ByteArray>) {
    let all = Bytes::copy_from_slice(texts.as_str().as_bytes());
    let mut from = 0;
    out.extend(texts.iter().map(|text| {
        let end = from + text.len();
        ByteArray::from(all.slice(std::mem::replace(&mut from, end)..end))
    }));
}
fn push(texts: &mut TextList, value: &ByteArray) -> Result<()> {
    texts.push(utf8(value)?);
    Ok(())
}
fn uuid(id: QueryId) -> FixedLenByteArray {
    FixedLenByteArray::from(id.0.to_be_bytes().to_vec())
}
fn decimal(money: Money) -> FixedLenByteArray {
    FixedLenByteArray::from(money.scaled().to_be_bytes().to_vec())
}
fn sixteen(value: &FixedLenByteArray) -> Result<[u8; 16]> {
    value.data().try_into().map_err(|_| wrong("sixteen bytes"))
}
fn query_id(value: &FixedLenByteArray) -> Result<QueryId> {
    Ok(QueryId(u128::from_be_bytes(sixteen(value)?)))
}
fn money(value: &FixedLenByteArray) -> Result<Money> {
    Money::from_scaled(i128::from_be_bytes(sixteen(value)?)).ok_or_else(|| wrong("an amount"))
}
fn utf8(value: &ByteArray) -> Result<&str> {
    std::str::from_utf8(value.data()).map_err(|_| wrong("text"))
}
fn wrong(what: &str) -> ParquetError {
    ParquetError::General(format!("not {what}"))
}

/// The text that was read last: neighbours often have the same.
#[derive(Default)]
struct Last(Text);

impl Last {
    fn text(&mut self, value: &ByteArray, set: impl FnOnce(Text)) -> Result<()> {
        let text = utf8(value)?;
        if *self.0 != *text {
            self.0 = text.into();
        }
        set(self.0.clone());
        Ok(())
    }
}

struct Writer<'w, 'g, W: Write> {
    group: &'w mut SerializedRowGroupWriter<'g, W>,
    rows: &'w [EventRow],
}

impl<W: Write + Send> Writer<'_, '_, W> {
    /// A column that each row has a value in.
    fn each<T: DataType>(&mut self, value: impl Fn(&EventRow) -> T::T) -> Result<()> {
        let values: Vec<T::T> = self.rows.iter().map(value).collect();
        self.put::<T>(&values, None, None)
    }
    /// A column that some rows have a value in.
    fn some<T: DataType>(&mut self, value: impl Fn(&EventRow) -> Option<T::T>) -> Result<()> {
        let values: Vec<Option<T::T>> = self.rows.iter().map(value).collect();
        let is_there: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
        let values: Vec<T::T> = values.into_iter().flatten().collect();
        self.put::<T>(&values, Some(&is_there), None)
    }
    /// A column that searches have any number of values in.
    fn many<T: DataType>(&mut self, list: impl Fn(&SearchRow, &mut Vec<T::T>)) -> Result<()> {
        let (mut values, mut is_there, mut continues) = (vec![], vec![], vec![]);
        for row in self.rows {
            let before = values.len();
            if let Some(search) = &row.search {
                list(search, &mut values);
            }
            let count = values.len() - before;
            is_there.extend(std::iter::repeat_n(i16::from(count > 0), count.max(1)));
            continues.extend((0..count.max(1)).map(|place| i16::from(place > 0)));
        }
        self.put::<T>(&values, Some(&is_there), Some(&continues))
    }
    fn put<T: DataType>(
        &mut self,
        values: &[T::T],
        is_there: Option<&[i16]>,
        continues: Option<&[i16]>,
    ) -> Result<()> {
        // a file may have the first columns alone
        let Some(mut column) = self.group.next_column()? else { return Ok(()) };
        column.typed::<T>().write_batch(values, is_there, continues)?;
        column.close()
    }
}

/// Values, definition levels and repetition levels.
type Column<T> = (Vec<<T as DataType>::T>, Vec<i16>, Vec<i16>);

struct Reader<'r> {
    group: &'r dyn RowGroupReader,
    next: usize,
    /// Whether the next columns are read, or passed over.
    is_wanted: bool,
    /// Rows before those that are read.
    skip: usize,
    rows: Vec<EventRow>,
}

impl Reader<'_> {
    fn each<T: DataType>(&mut self, mut set: impl FnMut(&mut EventRow, T::T) -> Result<()>) -> Result<()> {
        let Some((values, _, _)) = self.column::<T>()? else { return Ok(()) };
        if values.len() != self.rows.len() {
            return Err(wrong("a value for each row"));
        }
        self.rows.iter_mut().zip(values).try_for_each(|(row, value)| set(row, value))
    }
    fn some<T: DataType>(&mut self, mut set: impl FnMut(&mut EventRow, T::T) -> Result<()>) -> Result<()> {
        let Some((values, is_there, _)) = self.column::<T>()? else { return Ok(()) };
        let mut values = values.into_iter();
        if is_there.len() != self.rows.len() {
            return Err(wrong("a level for each row"));
        }
        for (row, _) in self.rows.iter_mut().zip(is_there).filter(|(_, is_there)| *is_there > 0) {
            set(row, values.next().ok_or_else(|| wrong("as many values as levels"))?)?;
        }
        Ok(())
    }
    fn many<T: DataType>(&mut self, mut set: impl FnMut(&mut EventRow, T::T) -> Result<()>) -> Result<()> {
        let Some((values, is_there, continues)) = self.column::<T>()? else { return Ok(()) };
        let (mut values, mut row) = (values.into_iter(), None);
        for (is_there, continues) in is_there.into_iter().zip(continues) {
            if continues == 0 {
                row = Some(row.map_or(0, |row| row + 1));
            }
            let row = row.and_then(|row| self.rows.get_mut(row)).ok_or_else(|| wrong("lists of rows"))?;
            if is_there > 0 {
                set(row, values.next().ok_or_else(|| wrong("as many values as levels"))?)?;
            }
        }
        Ok(())
    }
    /// Values, definition levels and repetition levels of the next column; `None` if that is passed over.
    fn column<T: DataType>(&mut self) -> Result<Option<Column<T>>> {
        let place = self.next;
        self.next += 1;
        if !self.is_wanted {
            return Ok(None);
        }
        column::<T>(self.group, place, self.skip, self.rows.len()).map(Some)
    }
}

/// Some rows' values, definition levels and repetition levels of a column.
fn column<T: DataType>(
    group: &dyn RowGroupReader,
    place: usize,
    skip: usize,
    count: usize,
) -> Result<Column<T>> {
    let column: ColumnReader = group.get_column_reader(place)?;
    let mut column = T::get_column_reader(column).ok_or_else(|| wrong("a column of this type"))?;
    let (mut values, mut is_there, mut continues) = (vec![], vec![], vec![]);
    if skip > 0 && column.skip_records(skip)? != skip {
        return Err(wrong("as many rows"));
    }
    column.read_records(count, Some(&mut is_there), Some(&mut continues), &mut values)?;
    Ok((values, is_there, continues))
}
