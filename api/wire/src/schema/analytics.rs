//! Figures of searches (C§18.5).

use std::collections::BTreeMap;
use utoipa::ToSchema;

macro_rules! figures {
    ($($(#[$text:meta])* $name:ident { $($(#[$more:meta])* $member:ident: $type:ty,)* })*) => {$(
        $(#[$text])*
        #[derive(ToSchema)]
        #[schema(rename_all = "camelCase")]
        #[allow(missing_docs)]
        pub struct $name { $($(#[$more])* pub $member: $type,)* }
    )*};
}

figures! {
    /// A number, and the same of each day.
    DailyCounts { count: u64, dates: Vec<CountOfDay>, }
    /// A number of a day.
    CountOfDay { date: String, count: u64, }
    /// Searches without results among all of them.
    NoResultRates { rate: f64, count: u64, no_result_count: u64, dates: Vec<NoResultRateOfDay>, }
    /// The same of a day.
    NoResultRateOfDay { date: String, rate: f64, count: u64, no_result_count: u64, }
    /// Searches of queries of which no result was clicked, among those that could have been.
    NoClickRates { rate: f64, count: u64, no_click_count: u64, dates: Vec<NoClickRateOfDay>, }
    /// The same of a day.
    NoClickRateOfDay { date: String, rate: f64, count: u64, no_click_count: u64, }
    /// The average position of clicks; `null` without clicks.
    AverageClickPositions { #[schema(required)] average: Option<f64>, click_count: u64, dates: Vec<AverageClickPositionOfDay>, }
    /// The same of a day.
    AverageClickPositionOfDay { date: String, #[schema(required)] average: Option<f64>, click_count: u64, }
    /// Clicks by position.
    ClickPositions { positions: Vec<ClicksOfPositions>, }
    /// Clicks from one position to another one, of which -1 is the end of the list.
    ClicksOfPositions { position: Vec<i64>, click_count: u64, }
    /// Tracked searches with a click among all of them; `null` without any.
    ClickThroughRates { #[schema(required)] rate: Option<f64>, tracked_search_count: u64, click_count: u64, dates: Vec<ClickThroughRateOfDay>, }
    /// The same of a day.
    ClickThroughRateOfDay { date: String, #[schema(required)] rate: Option<f64>, tracked_search_count: u64, click_count: u64, }
    /// Tracked searches with a conversion among all of them; `null` without any.
    ConversionRates { #[schema(required)] rate: Option<f64>, tracked_search_count: u64, conversion_count: u64, dates: Vec<ConversionRateOfDay>, }
    /// The same of a day.
    ConversionRateOfDay { date: String, #[schema(required)] rate: Option<f64>, tracked_search_count: u64, conversion_count: u64, }
    /// Tracked searches after which something was put into a basket, among all of them; `null` without any.
    AddToCartRates { #[schema(required)] rate: Option<f64>, tracked_search_count: u64, add_to_cart_count: u64, dates: Vec<AddToCartRateOfDay>, }
    /// The same of a day.
    AddToCartRateOfDay { date: String, #[schema(required)] rate: Option<f64>, tracked_search_count: u64, add_to_cart_count: u64, }
    /// Tracked searches after which something was bought, among all of them; `null` without any.
    PurchaseRates { #[schema(required)] rate: Option<f64>, tracked_search_count: u64, purchase_count: u64, dates: Vec<PurchaseRateOfDay>, }
    /// The same of a day.
    PurchaseRateOfDay { date: String, #[schema(required)] rate: Option<f64>, tracked_search_count: u64, purchase_count: u64, }
    /// What was paid.
    Revenues { currencies: BTreeMap<String, RevenueOfCurrency>, dates: Vec<RevenueOfDay>, }
    /// The same of a day.
    RevenueOfDay { date: String, currencies: BTreeMap<String, RevenueOfCurrency>, }
    /// What was paid in a currency.
    RevenueOfCurrency { currency: String, revenue: f64, }
    /// The most frequent queries.
    TopSearches { searches: Vec<TopSearch>, }
    /// A query. What follows `nbHits` is there with `clickAnalytics`, what follows `conversionCount` with `revenueAnalytics`.
    TopSearch {
        search: String,
        count: u64,
        nb_hits: u64,
        click_through_rate: Option<f64>,
        average_click_position: Option<f64>,
        click_positions: Option<Vec<ClicksOfPositions>>,
        conversion_rate: Option<f64>,
        tracked_search_count: Option<u64>,
        click_count: Option<u64>,
        conversion_count: Option<u64>,
        add_to_cart_rate: Option<f64>,
        add_to_cart_count: Option<u64>,
        purchase_rate: Option<f64>,
        purchase_count: Option<u64>,
        currencies: Option<BTreeMap<String, RevenueOfCurrency>>,
    }
    /// The most frequent queries without results.
    SearchesWithoutResults { searches: Vec<SearchWithoutResults>, }
    /// A query without results.
    SearchWithoutResults { search: String, count: u64, with_filter_count: u64, }
    /// The most frequent queries without clicks.
    SearchesWithoutClicks { searches: Vec<SearchWithoutClicks>, }
    /// A query without clicks.
    SearchWithoutClicks { search: String, count: u64, nb_hits: u64, }
    /// The records shown most.
    TopHits { hits: Vec<TopHit>, }
    /// A record. What follows `count` is there with `clickAnalytics`, what follows `conversionCount` with `revenueAnalytics`.
    TopHit {
        hit: String,
        count: u64,
        click_through_rate: Option<f64>,
        conversion_rate: Option<f64>,
        tracked_hit_count: Option<u64>,
        click_count: Option<u64>,
        conversion_count: Option<u64>,
        add_to_cart_rate: Option<f64>,
        add_to_cart_count: Option<u64>,
        purchase_rate: Option<f64>,
        purchase_count: Option<u64>,
        currencies: Option<BTreeMap<String, RevenueOfCurrency>>,
    }
    /// The attributes filtered by most.
    TopFilterAttributes { attributes: Vec<TopFilterAttribute>, }
    /// An attribute.
    TopFilterAttribute { attribute: String, count: u64, }
    /// The filters of an attribute that are used most.
    TopFilters { values: Vec<TopFilter>, }
    /// A filter.
    TopFilter { attribute: String, operator: String, value: String, count: u64, }
    /// The filters of searches without results; `null` when there are none.
    FiltersWithoutResults { #[schema(required)] values: Option<Vec<FilterSet>>, }
    /// All filters of a search.
    FilterSet { count: u64, values: Vec<UsedFilter>, }
    /// A filter of a search.
    UsedFilter { attribute: String, operator: String, value: String, }
    /// The countries with most searches.
    TopCountries { countries: Vec<TopCountry>, }
    /// A country.
    TopCountry { country: String, count: u64, }
    /// When figures are of; `null` without any.
    AnalyticsStatus { #[schema(required)] updated_at: Option<String>, }
}
