import Basics

/// Determines the negotiated section and the simulcast layer of a packet (RFC 9143 §9.2).
///
/// In order: a known SSRC, then RID or repaired RID with MID, then MID, then a payload type that only one section has.
/// The result is latched to the packet's SSRC, so the common path is one table look-up. SDP's `a=ssrc` lines are only a
/// start: browsers omit them with simulcast.
struct StreamIdentification: Sendable {
    /// The properties of a section that identification uses.
    struct Section: Sendable {
        var index: Int
        var mid: String?
        var payloadTypes: [UInt8]
        /// RTX payload type → the payload type that it repairs.
        var retransmissionPayloadTypes: [UInt8: UInt8]
        var ssrcs: [(media: SSRC, retransmission: SSRC?)]
        var rids: [String]

        init(
            index: Int, mid: String?, payloadTypes: [UInt8], retransmissionPayloadTypes: [UInt8: UInt8] = [:],
            ssrcs: [(media: SSRC, retransmission: SSRC?)] = [], rids: [String] = []
        ) {
            self.index = index
            self.mid = mid
            self.payloadTypes = payloadTypes
            self.retransmissionPayloadTypes = retransmissionPayloadTypes
            self.ssrcs = ssrcs
            self.rids = rids
        }
    }

    /// The ids of the identifying header extensions; an id stands for one URI in a whole bundle (RFC 9143).
    struct ExtensionIDs: Sendable {
        var mid: UInt8?
        var rid: UInt8?
        var repairedRID: UInt8?
        init(mid: UInt8?, rid: UInt8? = nil, repairedRID: UInt8? = nil) {
            self.mid = mid
            self.rid = rid
            self.repairedRID = repairedRID
        }
    }

    /// The stream that a packet belongs to.
    struct Stream: Hashable, Sendable {
        /// The section's index as given.
        var section: Int
        /// Which of the section's RIDs, in the offered order; nil without simulcast.
        var rid: Int?
        var isRetransmission: Bool
        /// For RTX: the SSRC and payload type of the stream that it repairs, once known.
        var mediaSSRC: SSRC?
        var mediaPayloadType: UInt8
    }

    /// More streams than any browser sends; an outsider cannot make the table larger.
    static let maximumStreams = 64
    /// An SSRC that is silent for this long may be taken over by another section (as in str0m).
    static let idleTimeout: Duration = .seconds(30)
    /// How long the present stream must be silent before a replaced SSRC gets its place back.
    static let returnTimeout: Duration = .seconds(2)

    private struct StreamKey: Hashable {
        var section: Int
        var rid: Int?
        var isRetransmission: Bool
    }
    private struct Latch {
        var key: StreamKey
        var pairedSSRC: SSRC?
        var lastSeen: Instant
        var isReplaced = false
    }

    private var sections: [Section]
    private var ids: ExtensionIDs
    private var latches: [SSRC: Latch] = [:]
    private var current: [StreamKey: SSRC] = [:]

    init(sections: [Section], extensions: ExtensionIDs) {
        self.sections = sections
        ids = extensions
        latchSignalled(at: .distantPast)
    }

    /// Takes a new description; latches of sections that still exist under their MID stay.
    mutating func update(sections new: [Section], extensions: ExtensionIDs, at now: Instant) {
        let kept = Set(
            new.filter { section in sections.contains { $0.index == section.index && $0.mid == section.mid } }.map(
                \.index))
        sections = new
        ids = extensions
        for (ssrc, latch) in latches where !kept.contains(latch.key.section) { forget(ssrc: ssrc) }
        latchSignalled(at: now)
    }

    /// The stream of this packet; nil if nothing identifies it.
    mutating func identify(_ header: RTPHeader, in bytes: Span<UInt8>, at now: Instant) -> Stream? {
        if let latch = latches[header.ssrc] {
            if let section = section(of: latch.key), accepts(section, header.payloadType) {
                if latch.isReplaced, !reclaim(header.ssrc, latch, at: now) { return nil }
                latches[header.ssrc]?.lastSeen = now
                return stream(latch.key, section, header, paired: latch.pairedSSRC)
            }
            // The SSRC moved to another section: identify it anew.
            guard let key = key(for: header, in: bytes) else { return nil }
            forget(ssrc: header.ssrc)
            return self.latch(header, key, at: now)
        }
        guard let key = key(for: header, in: bytes) else { return nil }
        return self.latch(header, key, at: now)
    }

    /// Ends a stream: BYE, or a rejected section.
    mutating func forget(ssrc: SSRC) {
        guard let latch = latches.removeValue(forKey: ssrc) else { return }
        if current[latch.key] == ssrc { current[latch.key] = nil }
    }

    private mutating func latchSignalled(at now: Instant) {
        for section in sections where section.rids.isEmpty {
            // Without RIDs a section is one stream; its first signalled SSRC has the place.
            for (media, retransmission) in section.ssrcs.prefix(4) {
                guard latches[media] == nil, latches.count < Self.maximumStreams - 1 else { continue }
                let key = StreamKey(section: section.index, rid: nil, isRetransmission: false)
                latches[media] = Latch(key: key, pairedSSRC: nil, lastSeen: now)
                if current[key] == nil { current[key] = media }
                if let retransmission, latches[retransmission] == nil {
                    let key = StreamKey(section: section.index, rid: nil, isRetransmission: true)
                    latches[retransmission] = Latch(key: key, pairedSSRC: media, lastSeen: now)
                    if current[key] == nil { current[key] = retransmission }
                }
            }
        }
    }

    private func section(of key: StreamKey) -> Section? { sections.first { $0.index == key.section } }

    private func accepts(_ section: Section, _ payloadType: UInt8) -> Bool {
        section.payloadTypes.contains(payloadType) || section.retransmissionPayloadTypes[payloadType] != nil
    }

    private func key(for header: RTPHeader, in bytes: Span<UInt8>) -> StreamKey? {
        let mid = ids.mid.flatMap { header.extensionElement($0, in: bytes) }
        var candidates = sections.filter { accepts($0, header.payloadType) }
        if let mid {
            candidates = candidates.filter { Self.equal($0.mid, bytes, mid) }
        }
        guard candidates.count == 1, let section = candidates.first else { return nil }
        let isRetransmission = section.retransmissionPayloadTypes[header.payloadType] != nil
        guard !section.rids.isEmpty else {
            return StreamKey(section: section.index, rid: nil, isRetransmission: isRetransmission)
        }
        let id = isRetransmission ? ids.repairedRID : ids.rid
        guard let range = id.flatMap({ header.extensionElement($0, in: bytes) }),
            let rid = section.rids.firstIndex(where: { Self.equal($0, bytes, range) })
        else { return nil }
        return StreamKey(section: section.index, rid: rid, isRetransmission: isRetransmission)
    }

    private mutating func latch(_ header: RTPHeader, _ key: StreamKey, at now: Instant) -> Stream? {
        guard let section = section(of: key) else { return nil }
        // Newer libwebrtc probes on SSRC 0 before media: the transport counts these packets, they are no stream.
        guard header.ssrc != 0 else { return stream(key, section, header, paired: nil) }
        if latches.count >= Self.maximumStreams {
            guard let oldest = latches.min(by: { $0.value.lastSeen < $1.value.lastSeen }) else { return nil }
            forget(ssrc: oldest.key)
        }
        for (ssrc, latch) in latches where now - latch.lastSeen > Self.idleTimeout && current[latch.key] != ssrc {
            forget(ssrc: ssrc)
        }
        if let former = current[key], former != header.ssrc { latches[former]?.isReplaced = true }
        current[key] = header.ssrc
        latches[header.ssrc] = Latch(key: key, pairedSSRC: nil, lastSeen: now)
        return stream(key, section, header, paired: nil)
    }

    /// Gives a replaced SSRC its place back if its successor has gone silent; otherwise its late packet is dropped.
    private mutating func reclaim(_ ssrc: SSRC, _ latch: Latch, at now: Instant) -> Bool {
        if let holder = current[latch.key], let other = latches[holder], now - other.lastSeen < Self.returnTimeout {
            return false
        }
        if let holder = current[latch.key] { latches[holder]?.isReplaced = true }
        current[latch.key] = ssrc
        latches[ssrc]?.isReplaced = false
        return true
    }

    private func stream(_ key: StreamKey, _ section: Section, _ header: RTPHeader, paired: SSRC?) -> Stream {
        var media: SSRC?
        if key.isRetransmission {
            var mediaKey = key
            mediaKey.isRetransmission = false
            media = current[mediaKey] ?? paired
        }
        let isRetransmission = section.retransmissionPayloadTypes[header.payloadType] != nil
        return Stream(
            section: key.section, rid: key.rid, isRetransmission: isRetransmission, mediaSSRC: media,
            mediaPayloadType: section.retransmissionPayloadTypes[header.payloadType] ?? header.payloadType)
    }

    private static func equal(_ text: String?, _ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard let text, text.utf8.count == range.count else { return false }
        var index = range.lowerBound
        for byte in text.utf8 {
            guard bytes[index] == byte else { return false }
            index += 1
        }
        return true
    }
}
