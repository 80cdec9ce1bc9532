import Basics
import Peer

/// From a connection's own figures to those that rooms show.
enum PeerFigures {
    static func bytes(_ statistics: PeerStatistics) -> (sent: Int, received: Int) { (0, 0) }
    static func lossUp(_ statistics: PeerStatistics) -> Double { 0 }
    static func statistics(of seat: PeerSeat, at now: Instant) -> ParticipantStatistics { ParticipantStatistics() }
}
