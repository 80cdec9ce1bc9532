import Basics
import Peer
import Simulation

/// Executes one visit of the plan by WHIP or WHEP, with requests instead of a signalling connection.
struct SoakStream: Sendable {
    let visit: SoakPlan.Visit
    let stage: SoakGuest.Stage

    func run() async throws {
        let isViewer = visit.endpoint == .whep
        guard let source = stage.footage.source(visit.codec, isLoud: visit.isLoud) else {
            throw BenchError("nothing to send")
        }
        let options = Crowd.Options(codec: visit.codec, watchesOnly: isViewer, overTCP: visit.overTCP)
        let offer = try await stage.crowd.enter(visit.place, options, source: source)
        let path = "/\(isViewer ? "whep" : "whip")/\(visit.room)?name=\(visit.name.filter { !$0.isWhitespace })"
        let answer = try await stage.http.fetch(
            "POST", path, headers: [("Content-Type", "application/sdp")], body: offer)
        guard answer.status == 201, let location = answer.headers["location"] else {
            throw BenchError("\(path): \(answer.status) \(answer.text)")
        }
        stage.tally.count(isViewer ? "viewers by WHEP" : "publishers by WHIP")
        try await stage.crowd.accept(answer.text, at: visit.place, overTCP: visit.overTCP)
        for deed in visit.deeds.sorted(by: { $0.at < $1.at }) {
            try await stage.sleep(until: deed.at)
            stage.tally.count(deed.what.name)
            switch deed.what {
            case .restartICE: try await restart(location, answer.text)
            case .move(let address): _ = try await stage.crowd.perform(visit.place) { leg, _ in leg.shown = address }
            default: break
            }
        }
        try await stage.sleep(until: visit.leaves)
        try await stage.check(visit)
        switch visit.exit {
        case .drop, .vanish:
            try await stage.crowd.vanish(visit.place)
            stage.tally.count("vanished")
        case .hangUp: try await stage.crowd.leave(visit.place)
        case .leave:
            let answer = try await stage.http.fetch("DELETE", location)
            guard answer.status == 200 else { throw BenchError("DELETE \(location): \(answer.status)") }
            try await stage.crowd.leave(visit.place)
        // The room ended two seconds ago, and its sessions with it.
        case .sentAway:
            let answer = try await stage.http.fetch("DELETE", location)
            guard answer.status == 404 else {
                throw BenchError("the session outlived its room: DELETE says \(answer.status)")
            }
            stage.tally.count("sent away")
        }
    }

    /// An ICE restart (RFC 9725 §4.3.2): the request has the client's new credentials, the answer the server's.
    private func restart(_ location: String, _ description: String) async throws {
        let made = try await stage.crowd.perform(visit.place) { leg, now in
            leg.connection.makeOffer(at: now, iceRestart: true)
        }
        guard let offer = made else { return }
        let credentials = offer.split(whereSeparator: \.isNewline).filter {
            $0.hasPrefix("a=ice-ufrag:") || $0.hasPrefix("a=ice-pwd:")
        }
        let fragment = (credentials.prefix(2) + ["m=audio 9 UDP/TLS/RTP/SAVPF 0", "a=mid:0"]).map { $0 + "\r\n" }
            .joined()
        let answer = try await stage.http.fetch(
            "PATCH", location, headers: [("Content-Type", "application/trickle-ice-sdpfrag"), ("If-Match", "*")],
            body: fragment)
        guard answer.status == 200 else { throw BenchError("PATCH \(location): \(answer.status) \(answer.text)") }
        let theirs = answer.text.split(whereSeparator: \.isNewline)
        func replacement(_ line: Substring) -> Substring {
            for name in ["a=ice-ufrag:", "a=ice-pwd:"] where line.hasPrefix(name) {
                return theirs.first { $0.hasPrefix(name) } ?? line
            }
            return line
        }
        let whole = description.split(whereSeparator: \.isNewline).map { replacement($0) + "\r\n" }.joined()
        try await stage.crowd.accept(whole, at: visit.place)
    }
}
