//! Words that are common in a language and say nothing about a subject, each list sorted; and all of them in one table,
//! which the compiler makes: nothing is built when the program starts.
//!
//! One look-up instead of one for each language: every word of every text that is indexed or ranked is looked up.

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

/// The languages' words, in the order of [`Language::ALL`](super::Language::ALL).
const BY_LANGUAGE: [&[&str]; 8] = [ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH, RUSSIAN];

/// Words of no language: those that only ask, or join.
const OF_NONE: [&[&str]; 2] = [ASKING, CHINESE];

/// Slots of the table, a power of two. About a third are used.
const SLOTS: usize = 4_096;

/// Bytes of all words, those of several languages counted again.
const BYTES: usize = bytes_of(&BY_LANGUAGE) + bytes_of(&OF_NONE);

static TABLE: Table = Table::new();

/// Returns the languages that have a lower-case word among their common ones, a bit for each in the order of
/// [`Language::ALL`](super::Language::ALL); `None` if it is not a common word.
pub(super) fn languages(word: &str) -> Option<u8> {
    let slot = &TABLE.slots[TABLE.place(word.as_bytes())];
    (slot.length > 0).then_some(slot.languages)
}

/// A hash table of words. It has offsets instead of references, which the program would have to relocate when it starts.
struct Table {
    slots: [Slot; SLOTS],
    text: [u8; BYTES],
}

#[derive(Clone, Copy)]
struct Slot {
    /// Where the word begins in the text.
    start: u16,
    /// Its bytes; 0 for an empty slot.
    length: u8,
    languages: u8,
}

impl Table {
    const fn new() -> Self {
        let empty = Slot { start: 0, length: 0, languages: 0 };
        let mut table = Self { slots: [empty; SLOTS], text: [0; BYTES] };
        let mut used = 0;
        let mut language = 0;
        while language < BY_LANGUAGE.len() {
            used = table.add(BY_LANGUAGE[language], 1 << language, used);
            language += 1;
        }
        let mut list = 0;
        while list < OF_NONE.len() {
            used = table.add(OF_NONE[list], 0, used);
            list += 1;
        }
        table
    }

    /// Adds words to a table whose text has `used` bytes; returns how many it has then.
    const fn add(&mut self, words: &[&str], languages: u8, mut used: usize) -> usize {
        let mut index = 0;
        while index < words.len() {
            let word = words[index].as_bytes();
            let place = self.place(word);
            if self.slots[place].length == 0 {
                self.slots[place] = Slot { start: used as u16, length: word.len() as u8, languages: 0 };
                let mut at = 0;
                while at < word.len() {
                    self.text[used + at] = word[at];
                    at += 1;
                }
                used += word.len();
            }
            self.slots[place].languages |= languages;
            index += 1;
        }
        used
    }

    /// Returns the slot that a word has, or would have.
    const fn place(&self, word: &[u8]) -> usize {
        let mut place = hash(word) as usize % SLOTS;
        while self.slots[place].length > 0 && !self.is_at(place, word) {
            place = (place + 1) % SLOTS;
        }
        place
    }

    const fn is_at(&self, place: usize, word: &[u8]) -> bool {
        let slot = self.slots[place];
        if slot.length as usize != word.len() {
            return false;
        }
        let mut at = 0;
        while at < word.len() {
            if self.text[slot.start as usize + at] != word[at] {
                return false;
            }
            at += 1;
        }
        true
    }
}

/// FNV-1a with 32 bits.
const fn hash(word: &[u8]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    let mut at = 0;
    while at < word.len() {
        hash = (hash ^ word[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash ^ hash >> 15
}

const fn bytes_of(lists: &[&[&str]]) -> usize {
    let mut sum = 0;
    let mut list = 0;
    while list < lists.len() {
        let mut index = 0;
        while index < lists[list].len() {
            sum += lists[list][index].len();
            index += 1;
        }
        list += 1;
    }
    assert!(sum < u16::MAX as usize, "offsets have 16 bits");
    sum
}

#[cfg(test)]
mod tests {
    use super::{BY_LANGUAGE, OF_NONE, languages};

    #[test]
    fn every_word_is_found_with_every_language_that_has_it() {
        for (bit, words) in BY_LANGUAGE.iter().enumerate() {
            for word in *words {
                assert_eq!(languages(word).map(|languages| languages >> bit & 1), Some(1), "{word}");
            }
        }
        for word in OF_NONE.iter().copied().flatten() {
            let having = BY_LANGUAGE.iter().enumerate().filter(|(_, words)| words.contains(word));
            assert_eq!(languages(word), Some(having.map(|(bit, _)| 1 << bit).sum()), "{word}");
        }
        for other in ["", "importer", "thee", "wär", "\u{0}", &"long".repeat(100)] {
            assert_eq!(languages(other), None, "{other}");
        }
    }
}
