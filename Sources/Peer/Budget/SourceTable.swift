import Basics

/// Which of a peer's SSRCs have a stream, and which may get one.
///
/// libsrtp keeps a stream for each SSRC whose packet was authentic, in a list that each packet walks through: a peer
/// that gives each packet a new SSRC would cost memory and time per packet for as long as the connection lives. So the
/// connection checks the SSRC, which is not encrypted, before the packet is decrypted.
///
/// **Eviction.** A new SSRC takes the place of the one that was silent for the longest; those that the peer's
/// description names keep theirs. A peer that changes its SSRC is accepted at once, however often it did before; one
/// that changes it with each packet gets `PeerBudget.newSources` of them per second.
///
/// **An evicted SSRC stays refused.** A removed stream loses its replay list and its rollover counter. If it were
/// created again, it would accept every packet that was ever sent under it a second time (RFC 3711 §3.3.2), and never
/// those after a wrap. So an SSRC that lost its place is refused for the rest of the connection. That list is bounded
/// as well, by `lifetime`: then the peer has used up its SSRCs.
struct SourceTable: Sendable {
    /// Streams at once. Three simulcast layers with their repairs, audio, a screen and the sources of reports are 12.
    static let capacity = 64
    /// SSRCs over the whole connection: one a second for an hour.
    static let lifetime = 4096
    /// The most sources of a description that keep their place.
    static let named = 32
    /// A source that was received more recently is not evicted. RTCP comes every 5 s at the latest (RFC 3550 §6.2).
    static let leastSilence: Duration = .seconds(6)

    /// When the last authentic packet of each source came.
    private var live: [SSRC: Instant] = [:]
    private var forgotten: Set<SSRC> = []
    private var protected: Set<SSRC> = []
    private var new: TokenBucket
    private var attempts: TokenBucket
    /// Packets that were dropped undecrypted because their SSRC has no stream and gets none.
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

    /// The number of sources that have a stream.
    var count: Int { live.count }
    /// The number of sources that had a stream and were evicted.
    var forgottenCount: Int { forgotten.count }
    /// The peer has used up its SSRCs.
    var isExhausted: Bool { live.count + forgotten.count >= Self.lifetime }

    /// Protects the SSRCs that the peer's description names.
    mutating func protect(_ ssrcs: [SSRC]) { protected = Set(ssrcs.prefix(Self.named)) }

    /// Whether a packet under this SSRC is to be decrypted.
    mutating func admits(_ ssrc: SSRC, at now: Instant) -> Bool {
        if live[ssrc] != nil { return true }
        // An SSRC takes a place only when its first packet proves authentic. Attempts are counted separately: anybody
        // can forge them.
        guard !forgotten.contains(ssrc), !isExhausted, live.count < Self.capacity || oldest(at: now) != nil,
            protected.contains(ssrc) || new.wait(at: now) == .zero && attempts.take(at: now)
        else {
            refused &+= 1
            return false
        }
        return true
    }

    /// Records an authentic packet under this SSRC. Returns the SSRC that lost its place for it, if any: its stream is
    /// to be removed.
    mutating func noteAuthentic(_ ssrc: SSRC, at now: Instant) -> SSRC? {
        guard live.updateValue(now, forKey: ssrc) == nil else { return nil }
        if !protected.contains(ssrc) { new.spend(1, at: now) }
        guard live.count > Self.capacity, let oldest = oldest(at: now) else { return nil }
        live[oldest] = nil
        forgotten.insert(oldest)
        return oldest
    }

    /// The source that may be evicted, if any.
    private func oldest(at now: Instant) -> SSRC? {
        live.filter { !protected.contains($0.key) && now - $0.value >= Self.leastSilence }
            .min { $0.value < $1.value }?.key
    }
}
