import Basics
import Peer
import Synchronization

/// Gives messages of data channels to the peers of one loop.
struct MessageRelay {
    let counters: HostCounters
    /// Marks a peer for the end of the loop's turn.
    let touch: (PeerSession) -> Void

    /// Relays a participant's message to the others of its group. Returns the number of receivers.
    func relay(_ message: RelayedMessage, to peers: some Sequence<PeerSession>, at now: Instant) -> Int {
        let content: DataChannelMessage =
            switch message.content {
            case .text(let text): .text(text)
            case .binary(let bytes): .binary(bytes)
            }
        var receivers = 0
        for peer in peers where peer.id != message.from && peer.group == message.group {
            guard let channel = peer.channels[message.label] else { continue }
            send([content], on: channel, to: peer, at: now)
            receivers += 1
        }
        return receivers
    }

    /// Sends a chat message to those who chat by data channel.
    func send(_ message: ChannelMessage, to peers: some Sequence<PeerSession>, at now: Instant) {
        for peer in peers where peer.id != message.from && message.to ?? peer.id == peer.id {
            if let group = message.group, group != peer.group { continue }
            guard let label = peer.chatChannel, label != message.besides, let channel = peer.channels[label] else {
                continue
            }
            send(message.forms.map { .binary($0) }, on: channel, to: peer, at: now)
        }
    }

    /// Sends the first of these forms of a message that fits into the channel and its backlog.
    private func send(_ forms: [DataChannelMessage], on channel: ChannelID, to peer: PeerSession, at now: Instant) {
        touch(peer)
        if forms.contains(where: { peer.peer.sendMessage($0, on: channel, at: now) }) { return }
        guard let last = forms.last, peer.peer.leavesHole(last, on: channel) else { return }
        // The peer reads too slowly and the message is lost. A reliable channel must not have such a gap, so it is
        // closed behind the messages before, and the peer may open another.
        peer.peer.closeChannel(channel, at: now)
        counters.closedChannels.wrappingAdd(1, ordering: .relaxed)
    }
}
