//! A vocabulary with the frequencies of natural language: few words are common, most are rare.

/// Size of the vocabulary.
const WORDS: usize = 40_000;

/// The most common words. They are real ones, because the model has vectors of real words.
const ENGLISH: &str = "server client request response session message parser importer database timeout migration schema \
    column worker thread process memory pointer buffer socket network packet header payload encoder decoder compiler \
    linker library package version release branch commit repository conflict review comment function method argument \
    parameter variable constant interface module account password token permission security certificate signature \
    encryption storage backup snapshot archive folder directory filename extension terminal keyboard window screen \
    colour picture document paragraph sentence language translation currency invoice payment customer product warehouse \
    delivery shipping calendar schedule reminder notification channel subscriber publisher consumer producer broker \
    cluster replica partition leader follower election consensus latency throughput benchmark profile sampling metric \
    dashboard incident outage recovery rollback container registry kernel driver device battery sensor camera microphone \
    speaker volume frequency filter transform matrix vector gradient training dataset feature regression estimate \
    variance template renderer stylesheet button dialog cursor scroll animation layout margin border padding shadow \
    texture shader vertex polygon collision physics player weapon inventory journal ledger balance budget revenue \
    expense salary employee manager department contract licence copyright address postcode country region weather \
    temperature pressure humidity distance velocity altitude compass satellite antenna receiver";

/// Chinese words of two characters.
const CHINESE: &str = "数据 连接 超时 服务 请求 错误 日志 缓存 索引 查询 线程 进程 内存 文件 目录 权限 密码 用户 会话 消息 \
    队列 任务 调度 重试 失败 成功 测试 部署 版本 分支 合并 冲突 编译 链接 接口 参数 返回 函数 变量 类型 模块 配置 网络 协议 \
    端口 证书 签名 加密 备份 恢复 迁移 表格 字段 主键 事务 锁定 性能 延迟";

/// A vocabulary, the most common word first.
pub(crate) struct Words {
    words: Vec<String>,
}

impl Words {
    /// Takes the real words, and builds the others from syllables; the result is always the same.
    pub(crate) fn new() -> Self {
        const ONSETS: [&str; 16] = ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr"];
        const RIMES: [&str; 20] = [
            "a", "e", "i", "o", "u", "an", "er", "in", "or", "us", "ar", "en", "ist", "ock", "um", "ad", "el", "ig",
            "ont", "ut",
        ];
        let syllable = |n: usize| format!("{}{}", ONSETS[n % 16], RIMES[n / 16 % 20]);
        // Three syllables each, so that every word is long enough for a search for a part of it.
        let word = |n: usize| {
            let mixed = n * 7_919 % 32_768_000;
            [mixed % 320, mixed / 320 % 320, mixed / 102_400].map(syllable).concat()
        };
        let real = ENGLISH.split_whitespace().map(str::to_owned);
        Self { words: real.chain((0..WORDS).map(word)).take(WORDS).collect() }
    }

    /// Returns the number of words.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns the word at a rank, from 0.
    pub(crate) fn ranked(&self, rank: usize) -> &str {
        &self.words[rank % self.words.len()]
    }

    /// Returns a random word; a word of rank n is about n times less likely than the first.
    pub(crate) fn any(&self, dice: &mut Dice) -> &str {
        self.ranked(dice.log_uniform(1, WORDS) - 1)
    }

    /// Returns `count` random words, separated by spaces.
    pub(crate) fn sentence(&self, dice: &mut Dice, count: usize) -> String {
        (0..count).map(|_| self.any(dice)).collect::<Vec<_>>().join(" ")
    }

    /// Returns `count` random Chinese words, without spaces.
    pub(crate) fn chinese(&self, dice: &mut Dice, count: usize) -> String {
        let words: Vec<&str> = CHINESE.split_whitespace().collect();
        (0..count).map(|_| words[dice.below(words.len())]).collect()
    }
}

/// A pseudo-random generator (xorshift) with a fixed seed, so that every run uses the same data.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// Returns a number below `most`.
    pub(crate) fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    /// Returns a log-uniform random number: every order of magnitude is equally likely.
    pub(crate) fn log_uniform(&mut self, least: usize, most: usize) -> usize {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let (least, most) = (least as f64, most as f64);
        ((least * (most / least).powf(share)) as usize).max(1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}
