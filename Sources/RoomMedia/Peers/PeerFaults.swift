import Basics
package import Peer

/// Counts of what was refused of a peer, by reason: one peer's in `ParticipantStatistics`, the sums of all in the
/// metrics.
package struct PeerFaults: Hashable, Sendable {
    /// The case's name is the key in the API. At most 16 cases.
    package enum Kind: Int, Sendable, CaseIterable {
        /// Packets that could not be read.
        case malformed
        /// Datagrams of no known kind, from an unchecked path, or before the keys.
        case unexpected
        case undecryptable
        case replayed
        /// Datagrams and reports that were dropped unread because the peer exceeded its budget of packets or of the
        /// loop's time.
        case overBudget
        /// Packets of sources that got no stream.
        case sources
        /// Sources that lost their stream to newer ones.
        case forgottenSources
        /// STUN messages that were not authentic, or too many.
        case checks
        /// Datagrams to the peer that were not sent because its address did not answer.
        case unanswered
        /// Frames with too many bytes, packets or NAL units.
        case oversizedFrames
        /// Data channel chunks beyond the receive window, and chunks that belong to no message.
        case chunksOverWindow
        case uselessChunks
        /// How often data channel messages had to wait for the budget.
        case slowedMessages
        /// Messages to the peer that were refused because too many wait.
        case undeliveredMessages
        /// Ignored DTLS datagrams: from an association that ended, or unreadable.
        case handshakes
        /// Flights of our DTLS handshake that were sent again.
        case repeatedHandshakes
    }

    /// By the kind's raw value: read for each peer each second, without an allocation.
    private var counts = SIMD16<Int>()

    package init() {}

    /// - Parameter overLoopBudget: datagrams that the loop dropped before they reached the connection.
    package init(_ statistics: PeerStatistics, overLoopBudget: Int) {
        self[.malformed] = statistics.malformedPackets + statistics.srtp.malformed
        self[.unexpected] = statistics.droppedDatagrams
        self[.undecryptable] = statistics.srtp.unauthenticated + statistics.srtp.otherFailures
        self[.replayed] = statistics.srtp.replayed
        self[.overBudget] = statistics.overBudgetDatagrams + statistics.skippedReports + overLoopBudget
        self[.sources] = statistics.refusedSources
        self[.forgottenSources] = statistics.forgottenSources
        self[.checks] = statistics.ignoredChecks
        self[.unanswered] = statistics.unansweredDatagrams
        self[.oversizedFrames] = statistics.videoReceived.oversizedFrames
        self[.chunksOverWindow] = statistics.channels.refusedChunks
        self[.uselessChunks] = statistics.channels.discardedChunks
        self[.slowedMessages] = statistics.channels.slowed
        self[.undeliveredMessages] = statistics.channels.refusedMessages
        self[.handshakes] = statistics.dtls.ignoredDatagrams
        self[.repeatedHandshakes] = statistics.dtls.retransmissions
    }

    package subscript(kind: Kind) -> Int {
        get { counts[kind.rawValue] }
        set { counts[kind.rawValue] = newValue }
    }

    /// The counts by the names of their kinds.
    package var named: [String: Int] {
        Dictionary(uniqueKeysWithValues: Kind.allCases.map { (String(describing: $0), self[$0]) })
    }

    /// Adds the difference of one peer's counts since `old`.
    mutating func add(_ new: PeerFaults, since old: PeerFaults) { counts &+= new.counts &- old.counts }

    var samples: [MetricSample] { Kind.allCases.map { $0.sample(self[$0]) } }
}

extension PeerFaults.Kind {
    fileprivate func sample(_ count: Int) -> MetricSample {
        func sample(_ name: String, _ help: String, _ reason: String? = nil) -> MetricSample {
            MetricSample(name, help, .counter, Double(count), labels: reason.map { ["reason": $0] } ?? [:])
        }
        func packets(_ reason: String) -> MetricSample {
            sample("tessera_packets_refused_total", "Packets of peers that were not taken, by reason.", reason)
        }
        func chunks(_ reason: String) -> MetricSample {
            sample(
                "tessera_channel_chunks_refused_total", "Chunks of data channels that were not taken, by reason.",
                reason)
        }
        return switch self {
        case .malformed: packets("malformed")
        case .unexpected: packets("unexpected")
        case .undecryptable: packets("undecryptable")
        case .replayed: packets("replayed")
        case .overBudget: packets("over_budget")
        case .sources: packets("source")
        case .checks: packets("check")
        case .handshakes: packets("handshake")
        case .repeatedHandshakes:
            sample("tessera_handshakes_repeated_total", "Flights of DTLS handshakes that were sent again.")
        case .forgottenSources:
            sample("tessera_sources_forgotten_total", "Sources of peers that lost their stream to newer ones.")
        case .unanswered:
            sample("tessera_packets_unanswered_total", "Datagrams that were not sent since nobody answered there.")
        case .oversizedFrames:
            sample(
                "tessera_video_frames_oversized_total",
                "Frames of senders that had more bytes, packets or NAL units than one may have.")
        case .chunksOverWindow: chunks("window")
        case .uselessChunks: chunks("useless")
        case .slowedMessages:
            sample("tessera_channel_messages_slowed_total", "How often messages of peers had to wait for their budget.")
        case .undeliveredMessages:
            sample(
                "tessera_channel_messages_undelivered_total",
                "Messages to peers that were not taken since too many wait.")
        }
    }
}
