import Basics

/// Which of a peer's SSRCs have a stream in libsrtp, and which may get one.
///
/// libsrtp makes a stream for each SSRC that it sees, keeps it for ever and looks for it in a list: a peer that gives
/// each packet an SSRC of its own would cost a kilobyte and a longer walk per packet. So the SSRC, which is not
/// encrypted, is looked at first.
///
/// **What makes place.** A new SSRC takes the place of the one that was silent for the longest; those that the peer's
/// description names keep theirs. A peer that changes its SSRC is heard at once, however often it did before; one that
/// changes it with each packet gets `PeerBudget.newSources` of them a second.
///
/// **What is forgotten stays forgotten.** A removed stream takes its replay list and its rollover counter along. Made
/// again, it would take every packet that was ever sent under it a second time (RFC 3711 §3.3.2), and those after a
/// wrap never. So an SSRC that lost its place is refused for the rest of the connection. That list is bounded as well:
/// by `lifetime`, after which the peer has had enough of them.
struct SourceTable: Sendable {
    /// Streams at once. Three simulcast layers with their repairs, sound, a screen and the sources of reports are 12.
    static let capacity = 64
    /// SSRCs over the whole connection: one a second for an hour.
    static let lifetime = 4096
    /// Of those that a description names, so many keep their place.
    static let named = 32
    /// What spoke more recently is not given up. RTCP comes each 5 s at the latest (RFC 3550 §6.2).
    static let leastSilence: Duration = .seconds(6)

    /// When each was last heard, by authentic packets.
    private var live: [SSRC: Instant] = [:]
    private var forgotten: Set<SSRC> = []
    private var kept: Set<SSRC> = []
    private var new: TokenBucket
    private var attempts: TokenBucket
    /// Packets that were dropped undecrypted, for an SSRC that has no stream and gets none.
    private(set) var refused = 0

    init(_ budget: PeerBudget, at now: Instant) {
        new = TokenBucket(rate: budget.newSources, size: budget.newSourcesAtOnce, at: now)
        attempts = TokenBucket(rate: budget.unknownSources, size: budget.unknownSources, at: now)
    }

    /// The SSRC of a packet of SRTP or SRTCP; nil if it is too short to have one.
    static func ssrc(_ packet: UnsafeRawBufferPointer, isReport: Bool) -> SSRC? {
        let offset = isReport ? 4 : 8
        guard packet.count >= offset + 4 else { return nil }
        return SSRC(rawValue: UInt32(bigEndian: packet.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    }

    /// How many have a stream.
    var count: Int { live.count }
    /// How many had one.
    var forgottenCount: Int { forgotten.count }
    /// The peer has had all the SSRCs that it may have.
    var isExhausted: Bool { live.count + forgotten.count >= Self.lifetime }

    /// The SSRCs that the peer's description names.
    mutating func keep(_ ssrcs: [SSRC]) { kept = Set(ssrcs.prefix(Self.named)) }

    /// Whether a packet under this SSRC is to be decrypted.
    mutating func admits(_ ssrc: SSRC, at now: Instant) -> Bool {
        if live[ssrc] != nil { return true }
        // Only one whose packet proves authentic costs the peer a place. Attempts are counted apart: anybody may forge
        // them.
        guard !forgotten.contains(ssrc), !isExhausted, live.count < Self.capacity || oldest(at: now) != nil,
            kept.contains(ssrc) || new.wait(at: now) == .zero && attempts.take(at: now)
        else {
            refused &+= 1
            return false
        }
        return true
    }

    /// A packet under this SSRC was authentic. Answers which one lost its place for it: its stream is to be removed.
    mutating func heard(_ ssrc: SSRC, at now: Instant) -> SSRC? {
        guard live.updateValue(now, forKey: ssrc) == nil else { return nil }
        if !kept.contains(ssrc) { new.spend(1, at: now) }
        guard live.count > Self.capacity, let oldest = oldest(at: now) else { return nil }
        live[oldest] = nil
        forgotten.insert(oldest)
        return oldest
    }

    /// Which one makes place for another.
    private func oldest(at now: Instant) -> SSRC? {
        live.filter { !kept.contains($0.key) && now - $0.value >= Self.leastSilence }.min { $0.value < $1.value }?.key
    }
}
