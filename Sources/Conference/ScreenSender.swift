/// The second connection of a participant, which sends its screen, as its endpoint holds it.
package final class ScreenSender: Sendable {
    /// The connection's; the participant has another one.
    package let id: String
    private let conference: Conference

    init(id: String, conference: Conference) {
        self.id = id
        self.conference = conference
    }

    /// Answers the client's offer, the first or a later one. Only its video is received, and nothing is sent.
    package func offer(_ sdp: String) async throws(ConferenceError) -> SDPAnswer {
        try await conference.peers.answer(id, offer: sdp).0
    }

    /// Takes a candidate line of the client (`candidate:…`), or nil at the end of them. An unreadable line is ignored.
    package func addCandidate(_ line: String?) { conference.peers.addCandidate(line, of: id) }

    /// Exchanges new ICE credentials without a whole offer (RFC 9725 §4.3.3).
    package func restartICE(ufrag: String, password: String) async throws(ConferenceError) -> ICERestart {
        try await conference.peers.restartICE(id, ufrag: ufrag, password: password)
    }

    /// Ends the connection. The participant stays.
    package func leave(_ reason: LeaveReason = .left) { conference.seats.leave(id, reason) }
    package func withdraw() { leave() }
}
