/// How much of a session description is parsed. Each limit is well above what the fixtures of real peers contain, and
/// bounds the cost of one description.
///
/// There are two kinds. Where a peer cannot need more (lines, sections, formats), exceeding the limit is an error that
/// names it: to answer half of such an offer would leave a call that fails without a message. What only helps us
/// (feedback, parameters, sources, candidates, unknown attributes) is parsed up to the limit and the rest is ignored:
/// the call works without it.
enum SDPLimits {
    // MARK: Errors

    /// Bytes of a whole description. Endpoints may allow less (`limits.sdpBytes`, 64 KiB unless configured).
    static let bytes = 1_048_576
    /// Lines, empty ones too. Chromium's offer of audio, two pictures and data has 693.
    static let lines = 4096
    /// `m=` sections. A browser keeps stopped ones for the life of a connection.
    static let sections = 64
    /// Formats of one `m=` line: there are as many RTP payload types (RFC 3551 §6), and so as many codecs. Chromium
    /// offers 34.
    static let formats = 128

    // MARK: The rest is ignored

    /// `a=rtcp-fb` lines per codec, its own and those of `*`. Chromium has 5.
    static let feedback = 16
    /// Parameters of one `a=fmtp` line. H.264 with all of them has 6, Opus 9.
    static let parameters = 64
    /// Sources of one section, and attributes of each. Firefox names 6 with simulcast; packets are identified by their
    /// MID.
    static let sources = 64
    static let sourceAttributes = 16
    /// `a=ssrc-group` lines of one section, and sources of each.
    static let sourceGroups = 32
    static let groupedSources = 16
    /// `a=extmap` lines of one section. Chromium has 13.
    static let extensions = 64
    /// Candidates of a whole description: twenty interfaces with UDP and TCP in three unbundled sections need half as
    /// many.
    static let candidates = 256
    /// Fingerprints of one section: one for each hash of one certificate. aiortc has 3.
    static let fingerprints = 16
    /// `a=rid` lines, encodings in one list of `a=simulcast`, alternatives of each. At most eight layers are accepted.
    static let restrictions = 16
    /// `a=msid` and `b=` lines of one section, `a=ice-options`.
    static let lists = 16
    /// `a=group:BUNDLE` lines, and mids of each: one for each section.
    static let bundles = 16
    static let bundledSections = sections
    /// Attributes without a field of their own, of one section or of the session. Only `ptime` and `maxptime` are used.
    static let attributes = 64
}
