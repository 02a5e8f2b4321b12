//! Plurals of words of languages that are alone in their family here.

use super::rule::Rules;

/// Hungarian: the plural with the vowels it may take.
pub(super) static HUNGARIAN: Rules = Rules {
    stem_min: 1,
    endings: &[
        ("C", "Cok"),
        ("C", "Cek"),
        ("C", "Cak"),
        ("V", "Vk"),
        ("CV", "CVk"),
        ("alom", "almok"),
        ("elem", "elmek"),
        ("ehen", "ehenek"),
    ],
    pairs: &[
        ("lo", "lovak"),
        ("ko", "kovek"),
        ("to", "tavak"),
        ("ho", "havak"),
        ("tukor", "tukrok"),
        ("kereg", "kergek"),
    ],
    fixed: "a az es is nem hogy meg de ha csak egy mar el van volt mint vagy ki sok ezek azok csak",
};
/// Turkish and Azerbaijani.
pub(super) static TURKISH: Rules = Rules {
    stem_min: 2,
    endings: &[
        ("", "lar"),
        ("", "ler"),
        ("aC", "aClar"),
        ("oC", "oClar"),
        ("uC", "uClar"),
        ("a", "alar"),
        ("o", "olar"),
        ("u", "ular"),
        ("eC", "eCler"),
        ("e", "eler"),
        ("uC", "uCler"),
        ("u", "uler"),
        ("oC", "oCler"),
    ],
    pairs: &[],
    fixed: "ve bir bu da de icin ile ne mi mu o ben sen biz siz var yok gibi kadar daha cok en her",
};
/// Kazakh, Kyrgyz and Tatar.
pub(super) static KAZAKH: Rules = Rules {
    stem_min: 2,
    endings: &[
        ("", "лар"),
        ("", "лер"),
        ("", "дар"),
        ("", "дер"),
        ("", "тар"),
        ("", "тер"),
        ("", "нар"),
        ("", "нәр"),
    ],
    pairs: &[],
    fixed: "және бір бұл мен да де үшін",
};
/// Greek.
pub(super) static GREEK: Rules = Rules {
    stem_min: 1,
    endings: &[
        ("οσ", "οι"),
        ("οσ", "ουσ"),
        ("α", "εσ"),
        ("η", "εσ"),
        ("η", "εισ"),
        ("ησ", "εσ"),
        ("ασ", "εσ"),
        ("ο", "α"),
        ("ι", "ια"),
        ("μα", "ματα"),
        ("εασ", "εισ"),
        ("ουδι", "ουδια"),
    ],
    pairs: &[("ανδρασ", "ανδρεσ"), ("κρεασ", "κρεατα"), ("φωσ", "φωτα")],
    fixed: "και το η ο τα οι να του τησ των με σε για απο που δεν θα ειναι ωσ στο στη στην τον την τι τισ τουσ",
};
/// Estonian: where the stem stays.
pub(super) static ESTONIAN: Rules = Rules {
    stem_min: 2,
    endings: &[
        ("V", "Vd"),
        ("C", "Cid"),
        ("C", "Cad"),
        ("C", "Ced"),
        ("C", "Cud"),
        ("ine", "ised"),
        ("us", "used"),
    ],
    pairs: &[
        ("mees", "mehed"),
        ("kasi", "kaed"),
        ("jalg", "jalad"),
        ("laps", "lapsed"),
        ("raamat", "raamatud"),
    ],
    fixed: "ja on ei et see ka kui oli mis aga ta ma sa me te nad",
};
/// Esperanto, with the accusative.
pub(super) static ESPERANTO: Rules = Rules {
    stem_min: 1,
    endings: &[("o", "oj"), ("o", "on"), ("o", "ojn"), ("a", "aj"), ("a", "an"), ("a", "ajn")],
    pairs: &[],
    fixed: "la kaj de en estas ne al ke por kun",
};
/// Basque, with the definite forms.
pub(super) static BASQUE: Rules = Rules {
    stem_min: 2,
    endings: &[("C", "Ca"), ("C", "Cak"), ("V", "Vak"), ("V", "Va"), ("a", "ak")],
    pairs: &[],
    fixed: "eta da ez du dira bat hau hori baina edo ere",
};
/// Arabic: the sound plurals, with and without the article.
pub(super) static ARABIC: Rules = Rules {
    stem_min: 2,
    endings: &[("C", "Cات"), ("C", "Cون"), ("C", "Cين"), ("ة", "ات"), ("ية", "يات")],
    pairs: &[
        ("كتاب", "كتب"),
        ("رجل", "رجال"),
        ("ولد", "اولاد"),
        ("طفل", "اطفال"),
        ("بيت", "بيوت"),
        ("مدينة", "مدن"),
        ("يوم", "ايام"),
        ("كلب", "كلاب"),
        ("قلم", "اقلام"),
        ("باب", "ابواب"),
    ],
    fixed: "في من على الى عن مع هذا هذه التي الذي كان هو هي لا ما او ثم",
};
/// Hebrew.
pub(super) static HEBREW: Rules = Rules {
    stem_min: 2,
    endings: &[("C", "Cים"), ("C", "Cות"), ("ה", "ות"), ("ה", "ים"), ("ת", "ות"), ("ית", "יות")],
    pairs: &[
        ("איש", "אנשים"),
        ("אישה", "נשים"),
        ("עיר", "ערים"),
        ("בת", "בנות"),
        ("בן", "בנים"),
        ("יום", "ימים"),
        ("בית", "בתים"),
    ],
    fixed: "של את על לא כי הוא היא אני זה עם גם כל או אם",
};
/// Georgian.
pub(super) static GEORGIAN: Rules = Rules {
    stem_min: 1,
    endings: &[("ი", "ები"), ("ა", "ები"), ("ე", "ეები"), ("ო", "ოები"), ("უ", "უები")],
    pairs: &[],
    fixed: "და არ ეს ის რომ",
};
/// Hindi, as normalised: vowel signs are kept.
pub(super) static HINDI: Rules = Rules {
    stem_min: 1,
    endings: &[("ा", "े"), ("ी", "ियां"), ("C", "Cें")],
    pairs: &[],
    fixed: "और का की के में है से को पर यह वह एक नहीं",
};
