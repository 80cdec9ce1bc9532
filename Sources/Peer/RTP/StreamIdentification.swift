import Basics

/// Tells which negotiated section and simulcast layer a packet belongs to (RFC 9143 §9.2).
///
/// In order: a known SSRC, then RID or repaired RID with MID, then MID, then a payload type that only one section has.
/// What was learnt from the packet is latched to its SSRC, so the common path is one table look-up. SDP's `a=ssrc`
/// lines are only a start: browsers leave them out with simulcast.
struct StreamIdentification: Sendable {
    /// A section as identification sees it.
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

    /// The ids of the identifying header extensions; one id means one URI in a whole bundle (RFC 9143).
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

    /// What a packet is.
    struct Stream: Hashable, Sendable {
        /// The section's index as given.
        var section: Int
        /// Which of the section's RIDs, in the offered order; nil without simulcast.
        var rid: Int?
        var isRetransmission: Bool
        /// For RTX: the SSRC and payload type of what it repairs, once known.
        var mediaSSRC: SSRC?
        var mediaPayloadType: UInt8
    }

    /// More streams than any browser sends; an outsider cannot grow the table beyond.
    static let maximumStreams = 64
    /// An SSRC that is silent for so long may be taken over by another section (as str0m).
    static let idleTimeout: Duration = .seconds(30)
    /// How long the stream in place must be silent before a replaced SSRC gets its seat back.
    static let returnTimeout: Duration = .seconds(2)

    private struct Seat: Hashable {
        var section: Int
        var rid: Int?
        var isRetransmission: Bool
    }
    private struct Latch {
        var seat: Seat
        var pairedSSRC: SSRC?
        var lastSeen: Instant
        var isReplaced = false
    }

    private var sections: [Section]
    private var ids: ExtensionIDs
    private var latches: [SSRC: Latch] = [:]
    private var current: [Seat: SSRC] = [:]

    init(sections: [Section], extensions: ExtensionIDs) {
        self.sections = sections
        ids = extensions
        latchSignalled(at: .distantPast)
    }

    /// Takes a new description; latches of sections that are still there under their MID stay.
    mutating func update(sections new: [Section], extensions: ExtensionIDs, at now: Instant) {
        let kept = Set(
            new.filter { section in sections.contains { $0.index == section.index && $0.mid == section.mid } }.map(
                \.index))
        sections = new
        ids = extensions
        for (ssrc, latch) in latches where !kept.contains(latch.seat.section) { forget(ssrc: ssrc) }
        latchSignalled(at: now)
    }

    /// Whose packet this is; nil when nothing tells.
    mutating func identify(_ header: RTPHeader, in bytes: Span<UInt8>, at now: Instant) -> Stream? {
        if let latch = latches[header.ssrc] {
            if let section = section(of: latch.seat), accepts(section, header.payloadType) {
                if latch.isReplaced, !reclaim(header.ssrc, latch, at: now) { return nil }
                latches[header.ssrc]?.lastSeen = now
                return stream(latch.seat, section, header, paired: latch.pairedSSRC)
            }
            // The SSRC moved to another section: learn it anew.
            guard let seat = seat(for: header, in: bytes) else { return nil }
            forget(ssrc: header.ssrc)
            return self.latch(header, seat, at: now)
        }
        guard let seat = seat(for: header, in: bytes) else { return nil }
        return self.latch(header, seat, at: now)
    }

    /// Ends a stream: BYE, or its section was rejected.
    mutating func forget(ssrc: SSRC) {
        guard let latch = latches.removeValue(forKey: ssrc) else { return }
        if current[latch.seat] == ssrc { current[latch.seat] = nil }
    }

    private mutating func latchSignalled(at now: Instant) {
        for section in sections where section.rids.isEmpty {
            // Without RIDs a section is one stream; its first signalled SSRC has the seat.
            for (media, retransmission) in section.ssrcs.prefix(4) {
                guard latches[media] == nil, latches.count < Self.maximumStreams - 1 else { continue }
                let seat = Seat(section: section.index, rid: nil, isRetransmission: false)
                latches[media] = Latch(seat: seat, pairedSSRC: nil, lastSeen: now)
                if current[seat] == nil { current[seat] = media }
                if let retransmission, latches[retransmission] == nil {
                    let seat = Seat(section: section.index, rid: nil, isRetransmission: true)
                    latches[retransmission] = Latch(seat: seat, pairedSSRC: media, lastSeen: now)
                    if current[seat] == nil { current[seat] = retransmission }
                }
            }
        }
    }

    private func section(of seat: Seat) -> Section? { sections.first { $0.index == seat.section } }

    private func accepts(_ section: Section, _ payloadType: UInt8) -> Bool {
        section.payloadTypes.contains(payloadType) || section.retransmissionPayloadTypes[payloadType] != nil
    }

    private func seat(for header: RTPHeader, in bytes: Span<UInt8>) -> Seat? {
        let mid = ids.mid.flatMap { header.extensionElement($0, in: bytes) }
        var candidates = sections.filter { accepts($0, header.payloadType) }
        if let mid {
            candidates = candidates.filter { Self.equal($0.mid, bytes, mid) }
        }
        guard candidates.count == 1, let section = candidates.first else { return nil }
        let isRetransmission = section.retransmissionPayloadTypes[header.payloadType] != nil
        guard !section.rids.isEmpty else {
            return Seat(section: section.index, rid: nil, isRetransmission: isRetransmission)
        }
        let id = isRetransmission ? ids.repairedRID : ids.rid
        guard let range = id.flatMap({ header.extensionElement($0, in: bytes) }),
            let rid = section.rids.firstIndex(where: { Self.equal($0, bytes, range) })
        else { return nil }
        return Seat(section: section.index, rid: rid, isRetransmission: isRetransmission)
    }

    private mutating func latch(_ header: RTPHeader, _ seat: Seat, at now: Instant) -> Stream? {
        guard let section = section(of: seat) else { return nil }
        // Newer libwebrtc probes on SSRC 0 before media: counted by the transport, never a stream of its own.
        guard header.ssrc != 0 else { return stream(seat, section, header, paired: nil) }
        if latches.count >= Self.maximumStreams {
            guard let oldest = latches.min(by: { $0.value.lastSeen < $1.value.lastSeen }) else { return nil }
            forget(ssrc: oldest.key)
        }
        for (ssrc, latch) in latches where now - latch.lastSeen > Self.idleTimeout && current[latch.seat] != ssrc {
            forget(ssrc: ssrc)
        }
        if let former = current[seat], former != header.ssrc { latches[former]?.isReplaced = true }
        current[seat] = header.ssrc
        latches[header.ssrc] = Latch(seat: seat, pairedSSRC: nil, lastSeen: now)
        return stream(seat, section, header, paired: nil)
    }

    /// A late packet of a replaced SSRC is dropped, unless its successor has gone silent.
    private mutating func reclaim(_ ssrc: SSRC, _ latch: Latch, at now: Instant) -> Bool {
        if let holder = current[latch.seat], let other = latches[holder], now - other.lastSeen < Self.returnTimeout {
            return false
        }
        if let holder = current[latch.seat] { latches[holder]?.isReplaced = true }
        current[latch.seat] = ssrc
        latches[ssrc]?.isReplaced = false
        return true
    }

    private func stream(_ seat: Seat, _ section: Section, _ header: RTPHeader, paired: SSRC?) -> Stream {
        var media: SSRC?
        if seat.isRetransmission {
            var mediaSeat = seat
            mediaSeat.isRetransmission = false
            media = current[mediaSeat] ?? paired
        }
        let isRetransmission = section.retransmissionPayloadTypes[header.payloadType] != nil
        return Stream(
            section: seat.section, rid: seat.rid, isRetransmission: isRetransmission, mediaSSRC: media,
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
