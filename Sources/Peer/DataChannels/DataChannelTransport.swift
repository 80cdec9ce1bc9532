import Basics
import COpenSSL

/// The identifier of a data channel of one connection: its SCTP stream.
public typealias ChannelID = UInt16

/// A message; text and binary messages stay distinct from sender to receiver.
public enum DataChannelMessage: Hashable, Sendable {
    /// UTF-8 text (PPID 51, or 56 when empty; RFC 8831 §8).
    case text(String)
    /// Bytes (PPID 53, or 57 when empty).
    case binary([UInt8])

    /// The length in bytes.
    var count: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let bytes): bytes.count
        }
    }
}

/// What the data channels report to their owner.
enum DataChannelEvent: Hashable, Sendable {
    /// Messages may be sent. `byRemote` if the peer opened the channel.
    case opened(ChannelID, label: String, byRemote: Bool)
    case message(ChannelID, DataChannelMessage)
    case closed(ChannelID)
    /// The association has ended, and no channel works any more.
    case failed(String)
}

/// The data channels of one connection (RFC 8831, RFC 8832) over its DTLS transport, without I/O, in virtual time.
final class DataChannelTransport {
    private struct Channel {
        var label: String
        var reliability: SCTPReliability
        /// Until the peer's first acknowledgement or message everything is sent in order, after the OPEN (RFC 8832 §6).
        var acknowledged: Bool
        var announced: Bool
        var closing = false
        var incomingReset = false
        var outgoingReset = false
        var partial: [UInt8] = []
    }

    /// The most channels that a peer may open.
    private static let mostChannels = 256
    /// The longest channel label in bytes: RFC 8832 §5.1 allows 65 535, but labels are short, and each is stored and
    /// forwarded.
    private static let longestLabel = 1024

    private let association: SCTPAssociation
    private let maximumOutgoing: Int
    private let maximumIncoming: Int
    private var channels: [ChannelID: Channel] = [:]
    private var nextID: UInt32
    private let parity: UInt16
    private var events = Queue<DataChannelEvent>()
    private var established = false
    /// Bytes in the `partial` of all channels together.
    private var partialBytes = 0

    /// `remoteMaximumMessage` is the peer's `a=max-message-size`, where 0 stands for no limit.
    init(
        role: DTLSRole, localPort: UInt16 = 5000, remotePort: UInt16 = 5000, maximumMessage: Int = 262_144,
        remoteMaximumMessage: Int = 65_536, budget: DataChannelBudget = DataChannelBudget(), at now: Instant
    ) {
        var configuration = SCTPConfiguration()
        configuration.localPort = localPort
        configuration.remotePort = remotePort
        configuration.maximumMessage = maximumMessage
        configuration.budget = budget
        var random = SystemRandomNumberGenerator()
        association = SCTPAssociation(configuration, tag: random.next(), tsn: random.next())
        maximumIncoming = maximumMessage
        maximumOutgoing = min(
            remoteMaximumMessage == 0 ? .max : remoteMaximumMessage,
            configuration.sendBuffer - SCTPReassembly.bookkeeping)
        // The DTLS client opens even streams, the server odd ones (RFC 8832 §6).
        parity = role == .client ? 0 : 1
        nextID = UInt32(parity)
    }

    /// Starts the association: DTLS is connected.
    func start(at now: Instant) {
        association.start(at: now)
    }

    /// Opens a channel; nil when all ids are in use.
    func open(
        label: String, protocol name: String = "", ordered: Bool = true, maxRetransmits: Int? = nil,
        maxLifetime: Duration? = nil, at now: Instant
    ) -> ChannelID? {
        var id = nextID
        while channels[UInt16(truncatingIfNeeded: id)] != nil { id += 2 }
        guard id < 1024, let text = UInt16(exactly: label.utf8.count),
            let protocolText = UInt16(exactly: name.utf8.count)
        else { return nil }
        let stream = UInt16(truncatingIfNeeded: id)
        var reliability = SCTPReliability(unordered: !ordered)
        var type: UInt8 = ordered ? 0 : 0x80
        var parameter: UInt32 = 0
        if let maxRetransmits {
            type |= 1
            parameter = UInt32(clamping: maxRetransmits)
            reliability.retransmissions = max(0, maxRetransmits)
        } else if let maxLifetime {
            type |= 2
            parameter = UInt32(clamping: maxLifetime.nanoseconds / 1_000_000)
            reliability.lifetime = maxLifetime
        }
        var bytes: [UInt8] = [3, type]
        bytes.append16(256)
        bytes.append32(parameter)
        bytes.append16(text)
        bytes.append16(protocolText)
        bytes += label.utf8
        bytes += name.utf8
        guard association.send(bytes, ppid: 50, stream: stream, SCTPReliability(), at: now) else { return nil }
        channels[stream] = Channel(label: label, reliability: reliability, acknowledged: false, announced: false)
        if established { announce(stream, byRemote: false) }
        return stream
    }

    /// Sends a message. False if the channel does not exist, the message is too long for the peer, or the backlog is
    /// full; then the caller tries later.
    @discardableResult
    func send(_ message: DataChannelMessage, on id: ChannelID, at now: Instant) -> Bool {
        guard let channel = channels[id], !channel.closing else { return false }
        var payload: [UInt8]
        var ppid: UInt32
        switch message {
        case .text(let text): (payload, ppid) = (Array(text.utf8), 51)
        case .binary(let bytes): (payload, ppid) = (bytes, 53)
        }
        guard payload.count <= maximumOutgoing else { return false }
        // SCTP has no empty messages: one zero byte with a PPID of its own stands for one (RFC 8831 §6.6).
        if payload.isEmpty { (payload, ppid) = ([0], ppid == 51 ? 56 : 57) }
        var reliability = channel.reliability
        if !channel.acknowledged { reliability.unordered = false }
        return association.send(payload, ppid: ppid, stream: id, reliability, at: now)
    }

    /// Whether a message that `send` refused, and that is not sent again, leaves a gap: the channel is open and
    /// reliable (limited neither by a count of retransmissions nor by a lifetime), and the peer accepts messages of
    /// this length.
    func leavesHole(_ message: DataChannelMessage, on id: ChannelID) -> Bool {
        guard let channel = channels[id], !channel.closing, message.count <= maximumOutgoing else { return false }
        return channel.reliability.retransmissions == nil && channel.reliability.lifetime == nil
    }

    /// Closes a channel once everything sent on it has arrived; `closed` follows when the peer has agreed.
    func close(_ id: ChannelID, at now: Instant) {
        guard channels[id]?.closing == false else { return }
        channels[id]?.closing = true
        association.reset(id, at: now)
    }

    /// Ends all channels at once.
    func shutdown(at now: Instant) {
        association.abort()
    }

    func receive(_ packet: [UInt8], at now: Instant) {
        association.receive(packet, at: now)
        handleEvents(at: now)
    }

    func advance(to now: Instant) {
        association.advance(to: now)
        handleEvents(at: now)
    }

    var nextDeadline: Instant? { association.nextDeadline }

    /// The next packet for the DTLS transport.
    func nextTransmit() -> [UInt8]? {
        association.nextPacket()
    }

    func nextEvent() -> DataChannelEvent? {
        events.popFirst()
    }

    /// Bytes that wait to be sent or acknowledged, plus 256 for each message.
    var backlog: Int { association.buffered }

    /// The counters, with the present totals.
    var statistics: DataChannelStatistics {
        let counted = association.statistics
        return DataChannelStatistics(
            refusedMessages: counted.refusedMessages, refusedChunks: counted.refusedChunks,
            discardedChunks: counted.discardedChunks,
            slowed: counted.slowed, heldBytes: association.held + partialBytes, backlog: backlog)
    }

    // MARK: - Inside

    private func handleEvents(at now: Instant) {
        while true {
            let events = association.takeEvents()
            guard !events.isEmpty else { return }
            for event in events { handle(event, at: now) }
        }
    }

    private func handle(_ event: SCTPEvent, at now: Instant) {
        switch event {
        case .established:
            established = true
            for id in channels.keys.sorted() { announce(id, byRemote: false) }
            association.flush(at: now)
        case .message(let stream, let ppid, let payload): received(payload, ppid: ppid, stream: stream, at: now)
        case .incomingReset(let streams):
            for id in streams.isEmpty ? Array(channels.keys) : streams {
                guard channels[id] != nil else { continue }
                channels[id]?.incomingReset = true
                if channels[id]?.closing == false { close(id, at: now) }
                finishIfReset(id)
            }
        case .outgoingReset(let streams):
            for id in streams {
                channels[id]?.outgoingReset = true
                finishIfReset(id)
            }
        case .closed: finishAll("the data channel peer closed")
        case .failed(let reason): finishAll(reason)
        }
    }

    private func announce(_ id: ChannelID, byRemote: Bool) {
        guard let channel = channels[id], !channel.announced else { return }
        channels[id]?.announced = true
        events.append(.opened(id, label: channel.label, byRemote: byRemote))
    }

    private func finishIfReset(_ id: ChannelID) {
        guard let channel = channels[id], channel.incomingReset, channel.outgoingReset else { return }
        _ = takePartial(id)
        channels[id] = nil
        events.append(.closed(id))
    }

    private func finishAll(_ reason: String) {
        for id in channels.keys.sorted() { events.append(.closed(id)) }
        channels = [:]
        partialBytes = 0
        events.append(.failed(reason))
    }

    private func received(_ payload: [UInt8], ppid: UInt32, stream: UInt16, at now: Instant) {
        if ppid == 50 {
            receivedControl(payload, stream: stream, at: now)
            return
        }
        guard channels[stream] != nil else { return }
        channels[stream]?.acknowledged = true
        switch ppid {
        case 51, 53:
            let whole = takePartial(stream) + payload
            // Invalid UTF-8 is repaired rather than dropped.
            events.append(.message(stream, ppid == 51 ? .text(String(decoding: whole, as: UTF8.self)) : .binary(whole)))
        case 52, 54:
            // Deprecated partial messages; Firefox sent them until 2017. All channels together may hold the length of
            // one message, so that a peer cannot fill one buffer per channel.
            guard partialBytes + payload.count <= maximumIncoming else { return close(stream, at: now) }
            partialBytes += payload.count
            channels[stream]?.partial += payload
        case 56: events.append(.message(stream, .text("")))
        case 57: events.append(.message(stream, .binary([])))
        default: break
        }
    }

    private func takePartial(_ stream: UInt16) -> [UInt8] {
        guard let partial = channels[stream]?.partial, !partial.isEmpty else { return [] }
        partialBytes -= partial.count
        channels[stream]?.partial = []
        return partial
    }

    private func receivedControl(_ payload: [UInt8], stream: UInt16, at now: Instant) {
        switch payload.first {
        case 2: channels[stream]?.acknowledged = true
        case 3:
            guard channels[stream] == nil, channels.count < Self.mostChannels, stream % 2 != parity,
                let (label, reliability) = try? Self.parseOpen(payload)
            else { return association.reset(stream, at: now) }
            channels[stream] = Channel(label: label, reliability: reliability, acknowledged: true, announced: false)
            _ = association.send([2], ppid: 50, stream: stream, SCTPReliability(), at: now)
            announce(stream, byRemote: true)
        default: break
        }
    }

    private static func parseOpen(_ payload: [UInt8]) throws(ByteReader.Truncated) -> (String, SCTPReliability) {
        var reader = ByteReader(payload.span)
        try reader.skip(1)
        let type = try reader.readUInt8()
        try reader.skip(2)
        let parameter = try reader.readUInt32()
        let labelLength = Int(try reader.readUInt16())
        let protocolLength = Int(try reader.readUInt16())
        guard labelLength <= longestLabel else { throw ByteReader.Truncated() }
        let label = String(decoding: try reader.readBytes(labelLength), as: UTF8.self)
        try reader.skip(protocolLength)
        var reliability = SCTPReliability(unordered: type & 0x80 != 0)
        switch type & 0x7F {
        case 1: reliability.retransmissions = Int(parameter)
        case 2: reliability.lifetime = .milliseconds(Int64(parameter))
        default: break
        }
        return (label, reliability)
    }
}
