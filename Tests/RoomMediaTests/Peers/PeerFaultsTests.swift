import Basics
import Peer
import Testing

@testable import RoomMedia

@Suite("PeerFaults")
struct PeerFaultsTests {
    /// Each counter has a value of its own.
    private var statistics: PeerStatistics {
        var all = PeerStatistics()
        (all.malformedPackets, all.srtp.malformed) = (1, 2)
        all.droppedDatagrams = 4
        (all.srtp.unauthenticated, all.srtp.otherFailures) = (8, 16)
        all.srtp.replayed = 32
        (all.overBudgetDatagrams, all.skippedReports) = (64, 128)
        (all.refusedSources, all.forgottenSources) = (256, 512)
        (all.ignoredChecks, all.unansweredDatagrams) = (1024, 2048)
        all.videoReceived.oversizedFrames = 4096
        all.channels = DataChannelStatistics(
            refusedMessages: 8192, refusedChunks: 16_384, discardedChunks: 32_768, slowed: 65_536)
        (all.dtls.ignoredDatagrams, all.dtls.retransmissions) = (1 << 17, 1 << 18)
        return all
    }

    @Test("every counter of a connection is included, and the datagrams that the loop dropped before it")
    func one() {
        let faults = PeerFaults(statistics, overLoopBudget: 1 << 20)
        #expect(
            faults.named == [
                "malformed": 3, "unexpected": 4, "undecryptable": 24, "replayed": 32, "overBudget": 192 + 1 << 20,
                "sources": 256,
                "forgottenSources": 512, "checks": 1024, "unanswered": 2048, "oversizedFrames": 4096,
                "undeliveredMessages": 8192,
                "chunksOverWindow": 16_384, "uselessChunks": 32_768, "slowedMessages": 65_536, "handshakes": 1 << 17,
                "repeatedHandshakes": 1 << 18,
            ])
    }

    @Test("the metrics have the sums of all peers, each fault counted once")
    func all() {
        let counters = HostCounters()
        let first = PeerFaults(statistics, overLoopBudget: 0)
        counters.add(first, since: PeerFaults())
        counters.add(first, since: first)
        var later = first
        later[.replayed] += 5
        counters.add(later, since: first)
        counters.add(first, since: PeerFaults())
        func value(_ name: String, _ reason: String? = nil) -> Double? {
            HostCounters.samples(of: [counters, HostCounters()]).first {
                $0.name == name && $0.labels["reason"] == reason
            }?.value
        }
        #expect(value("tessera_packets_refused_total", "replayed") == 69)
        let packets = ["malformed", "unexpected", "undecryptable", "over_budget", "source", "check"].map {
            value("tessera_packets_refused_total", $0)
        }
        #expect(packets == [6, 8, 48, 384, 512, 2048])
        #expect(value("tessera_sources_forgotten_total") == 1024 && value("tessera_packets_unanswered_total") == 4096)
        #expect(
            value("tessera_video_frames_oversized_total") == 8192
                && value("tessera_channel_messages_undelivered_total") == 16_384)
        let chunks = ["window", "useless"].map { value("tessera_channel_chunks_refused_total", $0) }
        #expect(chunks == [32_768, 65_536])
        #expect(value("tessera_channel_messages_slowed_total") == 131_072)
        #expect(
            value("tessera_packets_refused_total", "handshake") == 262_144
                && value("tessera_handshakes_repeated_total") == 524_288)
    }
}
