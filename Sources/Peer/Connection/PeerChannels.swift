public import Basics

/// The data channels of one connection: negotiated parameters, transport and events for the owner.
struct PeerChannels {
    /// A channel that was requested before the transport existed.
    private struct PendingChannel {
        var label: String
        var name: String
        var ordered: Bool
        var maxRetransmits: Int?
    }

    private var transport: DataChannelTransport?
    private var remotePort: UInt16?
    private var remoteMaximum = 65_536
    private var pending: [PendingChannel] = []
    private var labels: [ChannelID: String] = [:]
    private let budget: DataChannelBudget

    init(budget: DataChannelBudget) {
        self.budget = budget
    }

    mutating func configure(_ session: NegotiatedSession) {
        remotePort = session.sctpPort
        remoteMaximum = session.remoteMaxMessageSize
    }

    /// Starts the transport once DTLS is connected. Without a negotiated section nothing happens.
    mutating func start(role: DTLSRole, at now: Instant) {
        guard transport == nil, let remotePort else { return }
        let transport = DataChannelTransport(
            role: role, remotePort: remotePort, remoteMaximumMessage: remoteMaximum, budget: budget, at: now)
        transport.start(at: now)
        self.transport = transport
        for channel in pending {
            if let id = transport.open(
                label: channel.label, protocol: channel.name, ordered: channel.ordered,
                maxRetransmits: channel.maxRetransmits,
                at: now)
            {
                labels[id] = channel.label
            }
        }
        pending.removeAll()
    }

    mutating func open(label: String, protocol name: String, ordered: Bool, maxRetransmits: Int?, at now: Instant) {
        guard let transport else {
            if pending.count < 16 {
                pending.append(
                    PendingChannel(label: label, name: name, ordered: ordered, maxRetransmits: maxRetransmits))
            }
            return
        }
        if let id = transport.open(
            label: label, protocol: name, ordered: ordered, maxRetransmits: maxRetransmits, at: now)
        {
            labels[id] = label
        }
    }

    func channel(labelled label: String) -> ChannelID? { labels.filter { $0.value == label }.map(\.key).min() }

    func send(_ message: DataChannelMessage, on id: ChannelID, at now: Instant) -> Bool {
        transport?.send(message, on: id, at: now) ?? false
    }

    func leavesHole(_ message: DataChannelMessage, on id: ChannelID) -> Bool {
        transport?.leavesHole(message, on: id) ?? false
    }
    func close(_ id: ChannelID, at now: Instant) { transport?.close(id, at: now) }
    func shutdown(at now: Instant) { transport?.shutdown(at: now) }
    func receive(_ packet: [UInt8], at now: Instant) { transport?.receive(packet, at: now) }
    func advance(to now: Instant) { transport?.advance(to: now) }
    var nextDeadline: Instant? { transport?.nextDeadline }
    var statistics: DataChannelStatistics { transport?.statistics ?? DataChannelStatistics() }
    func nextTransmit() -> [UInt8]? { transport?.nextTransmit() }

    mutating func nextEvent() -> PeerEvent? {
        while let event = transport?.nextEvent() {
            switch event {
            case .opened(let id, let label, let byRemote):
                labels[id] = label
                return .channelOpened(id, label: label, byRemote: byRemote)
            case .message(let id, let message): return .message(id, label: labels[id] ?? "", message)
            case .closed(let id):
                labels[id] = nil
                return .channelClosed(id)
            case .failed:
                // Media goes on: the channels are reported closed one by one.
                guard let id = labels.keys.min() else { continue }
                labels[id] = nil
                return .channelClosed(id)
            }
        }
        return nil
    }
}

extension PeerConnection {
    /// Opens a data channel, now or once the connection is established; `.channelOpened` carries its id.
    public func openChannel(
        label: String, protocol name: String = "", ordered: Bool = true, maxRetransmits: Int? = nil, at now: Instant
    ) {
        channels.open(label: label, protocol: name, ordered: ordered, maxRetransmits: maxRetransmits, at: now)
        drain(at: now)
    }

    /// Sends a message; false when the channel does not exist or its backlog is full, then the caller tries later. Such
    /// messages are counted (``DataChannelStatistics/refusedMessages``). The packets are ready with the next `flush`,
    /// which bundles those of several messages.
    @discardableResult
    public func sendMessage(_ message: DataChannelMessage, on id: ChannelID, at now: Instant) -> Bool {
        unsettled = now
        return channels.send(message, on: id, at: now)
    }

    /// Sends a message on the first channel with this label.
    @discardableResult
    public func sendMessage(_ message: DataChannelMessage, label: String, at now: Instant) -> Bool {
        guard let id = channels.channel(labelled: label) else { return false }
        return sendMessage(message, on: id, at: now)
    }

    /// Whether a message that `sendMessage` refused, and that is not sent again, leaves a gap in a reliable channel. A
    /// message that is longer than the peer accepts leaves none.
    public func leavesHole(_ message: DataChannelMessage, on id: ChannelID) -> Bool {
        channels.leavesHole(message, on: id)
    }

    /// Closes a channel once everything sent on it has been delivered (RFC 8831 §6.7).
    public func closeChannel(_ id: ChannelID, at now: Instant) {
        channels.close(id, at: now)
        drain(at: now)
    }
}
