import Peer

/// The open data channels of one peer by label: the one that the peer opened, and the one that the server opened.
struct OpenChannels {
    private var all: [String: (theirs: ChannelID?, ours: ChannelID?)] = [:]

    mutating func add(_ channel: ChannelID, label: String, byPeer: Bool) {
        if byPeer {
            all[label, default: (nil, nil)].theirs = channel
        } else {
            all[label, default: (nil, nil)].ours = channel
        }
    }

    mutating func remove(_ channel: ChannelID) {
        for (label, open) in all {
            if open.theirs == channel { all[label]?.theirs = nil }
            if open.ours == channel { all[label]?.ours = nil }
        }
    }

    /// Whether the server has opened a channel of this label.
    func hasOurs(_ label: String) -> Bool { all[label]?.ours != nil }

    /// The channel for messages of this label: the peer's own where it opened one, since some clients listen on that
    /// alone.
    subscript(label: String) -> ChannelID? { all[label].flatMap { $0.theirs ?? $0.ours } }
}
