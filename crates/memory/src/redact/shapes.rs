//! The table of token prefixes, and how the text behind each of them must look.

/// The characters a token is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// Letters and digits.
    Alnum,
    /// Hexadecimal digits.
    Hex,
    /// Capital letters and digits.
    Upper,
    /// Letters, digits and `_`.
    Word,
    /// Letters, digits and `-`.
    Dashed,
    /// Letters, digits, `_` and `-`.
    Token,
    /// The same and `.`.
    Dotted,
    /// The same and `/`, as in the path of an address.
    Path,
    /// Both alphabets of base64, and `=`.
    Base64,
}

impl Body {
    /// Returns whether a token of this kind may hold the byte.
    pub(crate) fn has(self, byte: u8) -> bool {
        let sign: &[u8] = match self {
            Self::Hex => return byte.is_ascii_hexdigit(),
            Self::Upper => return byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alnum => b"",
            Self::Word => b"_",
            Self::Dashed => b"-",
            Self::Token => b"_-",
            Self::Dotted => b"_-.",
            Self::Path => b"_-./",
            Self::Base64 => b"+/=_-",
        };
        byte.is_ascii_alphanumeric() || sign.contains(&byte)
    }
}

/// A kind of token that is known by its first characters.
#[derive(Debug)]
pub(crate) struct Shape {
    /// What it begins with. At the anchor at least two characters have been read.
    pub(crate) prefix: &'static [u8],
    /// Which byte of the prefix the scanner looks for: one that text rarely has, the third at the earliest.
    pub(crate) anchor: usize,
    /// What follows the prefix.
    pub(crate) body: Body,
    /// How many characters of `body` must follow.
    pub(crate) least: usize,
}

const fn shape(prefix: &'static str, anchor: usize, body: Body, least: usize) -> Shape {
    Shape { prefix: prefix.as_bytes(), anchor, body, least }
}

/// Every prefix, with the service that hands it out. The first row that matches decides.
pub(crate) const SHAPES: &[Shape] = &[
    // GitHub
    shape("ghp_", 3, Body::Word, 20),
    shape("gho_", 3, Body::Word, 20),
    shape("ghu_", 3, Body::Word, 20),
    shape("ghs_", 3, Body::Word, 20),
    shape("ghr_", 3, Body::Word, 20),
    shape("github_pat_", 6, Body::Word, 16),
    // GitLab
    shape("glpat-", 5, Body::Dotted, 20),
    shape("glptt-", 5, Body::Token, 20),
    shape("gldt-", 4, Body::Token, 20),
    shape("glrt-", 4, Body::Dotted, 20),
    shape("glcbt-", 5, Body::Token, 20),
    shape("glft-", 4, Body::Token, 20),
    shape("glsoat-", 6, Body::Token, 20),
    shape("glimt-", 5, Body::Token, 20),
    shape("glagent-", 7, Body::Token, 20),
    shape("gloas-", 5, Body::Token, 20),
    // Anthropic, OpenAI, OpenRouter
    shape("sk-ant-", 2, Body::Token, 12),
    shape("sk-proj-", 2, Body::Token, 11),
    shape("sk-svcacct-", 2, Body::Token, 8),
    shape("sk-admin-", 2, Body::Token, 10),
    shape("sk-or-v1-", 2, Body::Token, 10),
    // Without a name only an unbroken run is a key: `sk-some-css-class` is none.
    shape("sk-", 2, Body::Alnum, 20),
    // Hugging Face, Replicate, Groq, Perplexity, xAI
    shape("hf_", 2, Body::Alnum, 30),
    shape("api_org_", 7, Body::Alnum, 30),
    shape("r8_", 2, Body::Alnum, 37),
    shape("gsk_", 3, Body::Alnum, 40),
    shape("pplx-", 4, Body::Alnum, 40),
    shape("xai-", 3, Body::Alnum, 40),
    // Stripe
    shape("sk_live_", 7, Body::Alnum, 16),
    shape("sk_test_", 7, Body::Alnum, 16),
    shape("rk_live_", 7, Body::Alnum, 16),
    shape("rk_test_", 7, Body::Alnum, 16),
    shape("whsec_", 5, Body::Base64, 24),
    // Package registries: npm, PyPI, RubyGems, Docker Hub
    shape("npm_", 3, Body::Alnum, 30),
    shape("pypi-AgE", 4, Body::Token, 50),
    shape("rubygems_", 8, Body::Hex, 40),
    shape("dckr_pat_", 8, Body::Token, 20),
    // Slack
    shape("xoxa-", 4, Body::Dashed, 10),
    shape("xoxb-", 4, Body::Dashed, 10),
    shape("xoxe-", 4, Body::Dashed, 10),
    shape("xoxo-", 4, Body::Dashed, 10),
    shape("xoxp-", 4, Body::Dashed, 10),
    shape("xoxr-", 4, Body::Dashed, 10),
    shape("xoxs-", 4, Body::Dashed, 10),
    shape("xapp-", 4, Body::Dashed, 10),
    shape("hooks.slack.com/services/", 5, Body::Path, 10),
    shape("hooks.slack.com/workflows/", 5, Body::Path, 10),
    shape("hooks.slack.com/triggers/", 5, Body::Path, 10),
    // Discord
    shape("discord.com/api/webhooks/", 7, Body::Path, 40),
    shape("discordapp.com/api/webhooks/", 10, Body::Path, 40),
    // Google
    shape("AIza", 2, Body::Token, 35),
    shape("ya29.", 4, Body::Token, 20),
    shape("GOCSPX-", 6, Body::Token, 20),
    // SendGrid, Mailgun, Brevo
    shape("SG.", 2, Body::Dotted, 40),
    shape("key-", 3, Body::Hex, 32),
    shape("xkeysib-", 7, Body::Dashed, 40),
    // DigitalOcean, Heroku, Shopify, Square
    shape("dop_v1_", 6, Body::Hex, 32),
    shape("doo_v1_", 6, Body::Hex, 32),
    shape("dor_v1_", 6, Body::Hex, 32),
    shape("HRKU-", 4, Body::Token, 30),
    shape("shpat_", 5, Body::Hex, 32),
    shape("shpca_", 5, Body::Hex, 32),
    shape("shppa_", 5, Body::Hex, 32),
    shape("shpss_", 5, Body::Hex, 32),
    shape("sq0atp-", 6, Body::Token, 22),
    shape("sq0csp-", 6, Body::Token, 22),
    // Grafana, New Relic, Sentry, Postman, Linear, Figma, Notion
    shape("glsa_", 4, Body::Word, 32),
    shape("glc_", 3, Body::Base64, 32),
    shape("NRAK-", 4, Body::Upper, 27),
    shape("sntrys_", 6, Body::Base64, 40),
    shape("sntryu_", 6, Body::Hex, 40),
    shape("PMAK-", 4, Body::Dashed, 40),
    shape("lin_api_", 7, Body::Alnum, 32),
    shape("figd_", 4, Body::Token, 40),
    shape("ntn_", 3, Body::Alnum, 40),
    shape("secret_", 6, Body::Alnum, 40),
    // Vault, age, Pulumi, Tailscale, PlanetScale, Supabase, Netlify, Fly, 1Password
    shape("hvs.", 3, Body::Token, 24),
    shape("hvb.", 3, Body::Token, 24),
    shape("AGE-SECRET-KEY-1", 3, Body::Upper, 50),
    shape("pul-", 3, Body::Hex, 40),
    shape("tskey-", 5, Body::Token, 20),
    shape("pscale_tkn_", 10, Body::Dotted, 32),
    shape("pscale_pw_", 9, Body::Dotted, 32),
    shape("sbp_", 3, Body::Hex, 40),
    shape("sb_secret_", 9, Body::Token, 20),
    shape("nfp_", 3, Body::Alnum, 36),
    shape("fm2_", 3, Body::Base64, 60),
    shape("ops_eyJ", 3, Body::Base64, 60),
];

/// For every anchor the pairs of bytes that stand before it in some prefix, as bits.
///
/// One look here spares the comparison with every prefix at nearly every anchor of ordinary text. Bytes are folded to
/// five bits: a wrong yes costs a comparison, a wrong no does not happen.
pub(crate) struct AnchorFilter {
    anchor: u8,
    pairs: [u32; 32],
}

impl AnchorFilter {
    const fn of(anchor: u8) -> Self {
        let mut pairs = [0; 32];
        let mut at = 0;
        while at < SHAPES.len() {
            let shape = &SHAPES[at];
            if shape.prefix[shape.anchor] == anchor {
                let (before, last) = (shape.prefix[shape.anchor - 2], shape.prefix[shape.anchor - 1]);
                pairs[(last & 31) as usize] |= 1 << (before & 31);
            }
            at += 1;
        }
        Self { anchor, pairs }
    }

    /// Returns whether some prefix has these two bytes before the anchor.
    #[inline]
    pub(crate) fn has(&self, before: u8, last: u8) -> bool {
        self.pairs[usize::from(last & 31)] >> (before & 31) & 1 == 1
    }

    /// Returns the shapes that may have their anchor at `at`.
    pub(crate) fn shapes(&self, bytes: &[u8], at: usize) -> impl Iterator<Item = &'static Shape> {
        let may_match = matches!(bytes[..at], [.., before, last] if self.has(before, last));
        let anchor = self.anchor;
        let shapes = if may_match { SHAPES } else { &[] };
        shapes.iter().filter(move |shape| shape.prefix[shape.anchor] == anchor)
    }
}

pub(crate) static DASH: AnchorFilter = AnchorFilter::of(b'-');
pub(crate) static UNDERSCORE: AnchorFilter = AnchorFilter::of(b'_');
pub(crate) static DOT: AnchorFilter = AnchorFilter::of(b'.');
pub(crate) static LETTER_Z: AnchorFilter = AnchorFilter::of(b'z');
