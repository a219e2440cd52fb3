//! Languages: which one a text is in, its stems, and the words that say nothing about a subject.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// A language that has a stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Russian,
}

/// How many words of a text decide its language.
const LOOKED_AT: usize = 400;

impl Language {
    /// Every language, English first.
    pub const ALL: [Self; 8] = [
        Self::English,
        Self::German,
        Self::French,
        Self::Spanish,
        Self::Italian,
        Self::Portuguese,
        Self::Dutch,
        Self::Russian,
    ];

    /// Returns the language whose common words a text has most of; English where it has none, or as many.
    pub fn of(text: &str) -> Self {
        let mut counts = [0_usize; Self::ALL.len()];
        let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| (2..=16).contains(&word.len()));
        let mut lower = String::new();
        for word in words.take(LOOKED_AT) {
            lower.clear();
            lower.extend(word.chars().flat_map(char::to_lowercase));
            for (language, count) in Self::ALL.into_iter().zip(&mut counts) {
                *count += usize::from(language.common().binary_search(&lower.as_str()).is_ok());
            }
        }
        let most = counts.iter().copied().max().unwrap_or_default();
        let found = Self::ALL.into_iter().zip(counts).find(|(_, count)| *count == most);
        found.map_or(Self::English, |(language, _)| language)
    }

    /// Returns the stem of a lower-case word.
    pub fn stem(self, word: &str) -> Cow<'_, str> {
        // A number has no stem, and a very short word is one.
        if word.len() < 3 || word.starts_with(|c: char| c.is_ascii_digit()) {
            return word.into();
        }
        Stemmer::create(self.algorithm()).stem(word)
    }

    fn algorithm(self) -> Algorithm {
        match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::French => Algorithm::French,
            Self::Spanish => Algorithm::Spanish,
            Self::Italian => Algorithm::Italian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Dutch => Algorithm::Dutch,
            Self::Russian => Algorithm::Russian,
        }
    }

    /// Returns the language's commonest words, sorted.
    fn common(self) -> &'static [&'static str] {
        match self {
            Self::English => ENGLISH,
            Self::German => GERMAN,
            Self::French => FRENCH,
            Self::Spanish => SPANISH,
            Self::Italian => ITALIAN,
            Self::Portuguese => PORTUGUESE,
            Self::Dutch => DUTCH,
            Self::Russian => RUSSIAN,
        }
    }
}

/// Returns whether a lower-case word says nothing about what is looked for, in any language: a question word, an
/// article, politeness.
pub fn is_stop_word(word: &str) -> bool {
    Language::ALL.iter().any(|language| language.common().binary_search(&word).is_ok())
        || ASKING.binary_search(&word).is_ok()
        || is_single_letter(word)
        || is_particle(word)
}

fn is_single_letter(word: &str) -> bool {
    matches!(word.as_bytes(), [one] if one.is_ascii_alphabetic())
}

/// Returns whether a pair of characters holds only Hiragana, as particles and endings do, or a Chinese question word.
fn is_particle(pair: &str) -> bool {
    let is_hiragana = |c: char| matches!(c, '\u{3040}'..='\u{309f}');
    (pair.chars().all(is_hiragana) && pair.chars().count() == 2) || CHINESE.binary_search(&pair).is_ok()
}

/// Returns a word without the accents of Latin letters: `ü` is found by `u`.
pub(crate) fn fold(word: &str) -> Cow<'_, str> {
    if word.is_ascii() || !word.chars().any(is_accented) {
        return word.into();
    }
    use unicode_normalization::UnicodeNormalization;
    word.nfd().filter(|c| !matches!(c, '\u{300}'..='\u{36f}')).collect::<String>().into()
}

/// Returns whether a character may have an accent that is dropped. Characters of Asian scripts keep their marks.
fn is_accented(c: char) -> bool {
    matches!(c, '\u{c0}'..='\u{36f}' | '\u{1e00}'..='\u{1eff}')
}

const ENGLISH: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "aren", "as", "at", "be",
    "because", "been", "before", "being", "but", "by", "can", "cannot", "could", "couldn", "did", "didn", "do", "does",
    "doesn", "doing", "don", "done", "down", "during", "each", "few", "for", "from", "further", "get", "gets", "got",
    "had", "hadn", "has", "hasn", "have", "haven", "having", "he", "her", "here", "hers", "him", "his", "how", "i",
    "if", "in", "into", "is", "isn", "it", "its", "itself", "just", "let", "ll", "me", "more", "most", "my", "no",
    "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "ours", "out", "over", "own", "re",
    "same", "she", "should", "shouldn", "so", "some", "such", "than", "that", "the", "their", "theirs", "them", "then",
    "there", "these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "us", "ve", "very",
    "was", "wasn", "we", "were", "weren", "what", "when", "where", "which", "while", "who", "whom", "whose", "why",
    "will", "with", "won", "would", "wouldn", "you", "your", "yours",
];

/// Words with which somebody asks, rather than what is asked for.
const ASKING: &[&str] = &[
    "actually",
    "again",
    "anybody",
    "anyone",
    "anything",
    "ask",
    "asked",
    "did",
    "ever",
    "exactly",
    "explain",
    "finally",
    "find",
    "give",
    "happen",
    "happened",
    "hello",
    "help",
    "hey",
    "hi",
    "kindly",
    "know",
    "like",
    "look",
    "many",
    "may",
    "maybe",
    "mean",
    "mention",
    "mentioned",
    "might",
    "much",
    "must",
    "need",
    "needed",
    "often",
    "okay",
    "perhaps",
    "please",
    "possible",
    "possibly",
    "question",
    "really",
    "recall",
    "remember",
    "remind",
    "reminder",
    "right",
    "said",
    "saw",
    "say",
    "says",
    "see",
    "seem",
    "seems",
    "shall",
    "show",
    "simply",
    "somebody",
    "someone",
    "something",
    "sorry",
    "sure",
    "tell",
    "thank",
    "thanks",
    "thing",
    "things",
    "think",
    "thought",
    "told",
    "try",
    "trying",
    "use",
    "used",
    "uses",
    "using",
    "want",
    "wanted",
    "whether",
    "wonder",
    "wondering",
    "yes",
    "yet",
];

const GERMAN: &[&str] = &[
    "aber", "alle", "als", "also", "am", "an", "auch", "auf", "aus", "bei", "beim", "bin", "bis", "bitte", "da",
    "damit", "danach", "dann", "das", "dass", "dein", "dem", "den", "denn", "der", "des", "die", "dies", "diese",
    "diesem", "diesen", "dieser", "dieses", "doch", "dort", "du", "durch", "ein", "eine", "einem", "einen", "einer",
    "eines", "er", "es", "etwas", "euch", "für", "gab", "gegen", "habe", "haben", "hat", "hatte", "hatten", "hier",
    "hinter", "ich", "ihm", "ihn", "ihr", "ihre", "im", "immer", "in", "ins", "ist", "ja", "jede", "jeder", "jetzt",
    "kann", "kein", "keine", "können", "könnte", "machen", "mal", "man", "mehr", "mein", "mich", "mir", "mit", "muss",
    "nach", "nicht", "nichts", "noch", "nun", "nur", "ob", "oder", "ohne", "schon", "sehr", "sei", "sein", "seine",
    "sich", "sie", "sind", "so", "soll", "sollte", "sollten", "um", "und", "uns", "unser", "unter", "vom", "von",
    "vor", "wann", "war", "waren", "warum", "was", "weil", "welche", "welcher", "welches", "wenn", "wer", "werden",
    "wie", "wieder", "wieso", "wir", "wird", "wo", "wurde", "wurden", "zu", "zum", "zur", "zwischen", "über",
];

const FRENCH: &[&str] = &[
    "ai", "ainsi", "alors", "après", "au", "aussi", "autre", "aux", "avant", "avec", "avoir", "avons", "ce", "cela",
    "ces", "cette", "ceux", "chez", "comme", "comment", "dans", "de", "depuis", "des", "deux", "doit", "donc", "dont",
    "du", "elle", "en", "encore", "entre", "est", "et", "eu", "faire", "fait", "faut", "il", "ils", "je", "la", "le",
    "les", "leur", "lors", "lui", "mais", "mes", "moi", "moins", "mon", "même", "ne", "nos", "notre", "nous", "on",
    "ont", "ou", "où", "par", "parce", "pas", "peut", "plus", "pour", "pourquoi", "qu", "quand", "que", "quel",
    "quelle", "quelles", "quels", "qui", "quoi", "sa", "sans", "se", "sera", "ses", "si", "son", "sont", "sous", "sur",
    "ta", "te", "tes", "toi", "ton", "tous", "tout", "toute", "très", "tu", "un", "une", "vos", "votre", "vous",
    "était", "été", "être",
];

const SPANISH: &[&str] = &[
    "al", "algo", "ante", "antes", "aquí", "así", "aún", "cada", "como", "con", "cual", "cuando", "cuál", "cuándo",
    "cómo", "de", "del", "desde", "donde", "dónde", "el", "ella", "ellos", "en", "entonces", "era", "eran", "es",
    "esa", "ese", "eso", "esta", "estaba", "este", "esto", "estos", "está", "están", "fue", "fueron", "ha", "había",
    "han", "hasta", "hay", "la", "las", "le", "les", "lo", "los", "me", "mi", "mis", "mucho", "muy", "más", "nada",
    "ni", "no", "nos", "nosotros", "o", "otra", "otro", "para", "pero", "poco", "por", "porque", "puede", "que",
    "quien", "quién", "qué", "se", "sea", "ser", "si", "sido", "sin", "sobre", "solo", "son", "su", "sus", "sí",
    "también", "te", "tenemos", "tiene", "todo", "todos", "tu", "un", "una", "uno", "unos", "usted", "ya", "yo", "él",
];

const ITALIAN: &[&str] = &[
    "abbiamo", "ad", "agli", "ai", "al", "alla", "alle", "allo", "anche", "ancora", "avere", "aveva", "che", "chi",
    "ci", "come", "con", "cosa", "così", "cui", "da", "dal", "dalla", "dalle", "dei", "del", "della", "delle", "dello",
    "di", "dopo", "dove", "era", "erano", "essere", "fatto", "fra", "gli", "ha", "hai", "hanno", "ho", "il", "in",
    "io", "la", "le", "lei", "lo", "loro", "lui", "ma", "mi", "mio", "molto", "ne", "nei", "nel", "nella", "nelle",
    "noi", "non", "nostro", "ogni", "ora", "per", "perché", "più", "poi", "può", "quale", "quando", "quanto", "quella",
    "quello", "questa", "queste", "questi", "questo", "qui", "se", "sei", "senza", "si", "sia", "siamo", "solo",
    "sono", "sopra", "sotto", "stato", "su", "sua", "sul", "sulla", "suo", "tra", "tu", "tutti", "tutto", "un", "una",
    "uno", "vi", "voi", "è",
];

const PORTUGUESE: &[&str] = &[
    "ainda", "ao", "aos", "após", "aqui", "as", "até", "cada", "com", "como", "da", "das", "de", "dela", "dele",
    "depois", "desde", "do", "dos", "e", "ela", "ele", "eles", "em", "entre", "então", "era", "essa", "esse", "esta",
    "este", "está", "estão", "eu", "fazer", "foi", "foram", "há", "isso", "isto", "já", "lhe", "mais", "mas", "me",
    "mesmo", "meu", "minha", "muito", "na", "nas", "nem", "no", "nos", "nossa", "nosso", "num", "numa", "não", "nós",
    "o", "onde", "os", "ou", "para", "pela", "pelo", "pode", "por", "porque", "porquê", "quais", "qual", "quando",
    "que", "quem", "se", "sem", "ser", "seu", "seus", "sobre", "sua", "suas", "só", "também", "te", "tem", "temos",
    "ter", "todo", "todos", "tu", "tudo", "um", "uma", "você", "é",
];

const DUTCH: &[&str] = &[
    "aan", "al", "alle", "alleen", "als", "altijd", "andere", "ben", "bij", "dan", "dat", "de", "deze", "die", "dit",
    "doch", "doen", "door", "dus", "een", "eens", "en", "er", "ge", "geen", "geweest", "haar", "had", "heb", "hebben",
    "heeft", "hem", "het", "hier", "hij", "hoe", "hun", "iemand", "iets", "ik", "in", "is", "ja", "je", "kan", "kon",
    "kunnen", "maar", "me", "meer", "men", "met", "mij", "mijn", "moet", "na", "naar", "niet", "niets", "nog", "nu",
    "of", "om", "omdat", "ons", "ook", "op", "over", "reeds", "te", "tegen", "toch", "toen", "tot", "u", "uit", "uw",
    "van", "veel", "voor", "waar", "waarom", "want", "waren", "was", "wat", "we", "wel", "welke", "werd", "wie", "wij",
    "wil", "worden", "wordt", "zal", "ze", "zei", "zelf", "zich", "zij", "zijn", "zo", "zonder", "zou",
];

const RUSSIAN: &[&str] = &[
    "а",
    "без",
    "более",
    "бы",
    "был",
    "была",
    "были",
    "было",
    "быть",
    "в",
    "вам",
    "вас",
    "весь",
    "во",
    "вот",
    "все",
    "всего",
    "всех",
    "вы",
    "где",
    "да",
    "даже",
    "для",
    "до",
    "его",
    "ее",
    "если",
    "есть",
    "еще",
    "же",
    "за",
    "здесь",
    "и",
    "из",
    "или",
    "им",
    "их",
    "к",
    "как",
    "какая",
    "какие",
    "какой",
    "когда",
    "кто",
    "ли",
    "либо",
    "мне",
    "может",
    "мы",
    "на",
    "надо",
    "наш",
    "не",
    "него",
    "нее",
    "нет",
    "ни",
    "них",
    "но",
    "ну",
    "о",
    "об",
    "однако",
    "он",
    "она",
    "они",
    "оно",
    "от",
    "очень",
    "по",
    "под",
    "при",
    "с",
    "со",
    "так",
    "также",
    "такой",
    "там",
    "те",
    "тем",
    "то",
    "того",
    "тоже",
    "той",
    "только",
    "том",
    "ты",
    "у",
    "уже",
    "хотя",
    "чего",
    "чей",
    "чем",
    "что",
    "чтобы",
    "чье",
    "чья",
    "эта",
    "эти",
    "это",
    "я",
];

/// Chinese words that ask or join.
const CHINESE: &[&str] = &[
    "一下", "一个", "为什", "么样", "了什", "了吗", "什么", "他们", "以及", "但是", "何处", "何时", "你们", "可以",
    "哪个", "哪些", "因为", "多少", "如何", "如果", "定了", "就是", "怎么", "我们", "或者", "所以", "是什", "是否",
    "是怎", "有没", "没有", "的是", "请问", "还是", "这个", "那个",
];
