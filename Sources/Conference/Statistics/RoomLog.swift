import Basics
import Logging
import Threads

/// The log lines about rooms and participants, each with `room` and, where it concerns one, `participant` as metadata,
/// so that an operator can find the lines of one call.
final class RoomLog: Sendable {
    private let logger: Logger
    /// A thousand people may join and leave within a minute, a script's ten thousand may not fill the log.
    private let visits = LogAllowance(perSecond: 20, atOnce: 200, at: MonotonicClock.now())
    /// A whole office may lose its network.
    private let failures = LogAllowance(perSecond: 2, atOnce: 20, at: MonotonicClock.now())
    private let recordings = LogAllowance(perSecond: 5, atOnce: 50, at: MonotonicClock.now())

    private let streams = LogAllowance(perSecond: 5, atOnce: 50, at: MonotonicClock.now())

    init(_ logger: Logger) { self.logger = logger }

    private func write(
        _ level: Logger.Level, _ text: String, _ allowance: LogAllowance, room: String, _ more: Logger.Metadata = [:]
    ) {
        guard let suppressed = allowance.take(at: MonotonicClock.now()) else { return }
        var metadata = more
        metadata["room"] = "\(room)"
        if suppressed > 0 { metadata["suppressed"] = "\(suppressed)" }
        logger.log(level: level, "\(text)", metadata: metadata)
    }

    func joined(_ id: String, _ role: Role, room: String) {
        write(.info, "joined", visits, room: room, ["participant": "\(id)", "role": "\(role.rawValue)"])
    }

    func resumed(_ id: String, room: String) {
        write(.info, "taken back", visits, room: room, ["participant": "\(id)"])
    }

    func left(_ id: String, room: String, _ reason: LeaveReason) {
        write(.info, "left", visits, room: room, ["participant": "\(id)", "reason": "\(reason.rawValue)"])
    }

    func displaced(room: String) {
        write(.info, "displaced: nobody uses it, and all places for rooms are taken", visits, room: room, [:])
    }

    func displaced(_ id: String, room: String) {
        write(
            .info, "displaced: it has no media, and all places are taken", visits, room: room, ["participant": "\(id)"])
    }

    func roomEnded(_ room: String, _ reason: LeaveReason, participants: Int) {
        write(
            .info, "room ended", visits, room: room,
            ["participants": "\(participants)", "reason": "\(reason.rawValue)"])
    }

    func moving(_ room: String, within limit: Duration) {
        write(.notice, "room moves to another server", visits, room: room, ["within": "\(limit)"])
    }

    /// - Parameter what: a stream or an input, which the room had at another server.
    func notGoneOn(_ what: String, _ error: ConferenceError, room: String) {
        write(.notice, "\(what) does not go on here: \(error)", streams, room: room)
    }

    /// - Parameter why: the transport's reason (`PeerEvent.failed`). The level is `notice`, since the fault is the
    ///   peer's or the network's.
    func peerFailed(_ id: String, room: String, _ reason: LeaveReason, why: String) {
        write(
            .notice, "a peer's connection ended: \(why)", failures, room: room,
            ["participant": "\(id)", "reason": "\(reason.rawValue)"])
    }

    /// - Parameter participant: the one who started it; nil: an administrator or the configuration.
    func recordingStarted(_ info: RecordingInfo, by participant: String?) {
        var metadata: Logger.Metadata = ["recording": "\(info.id)"]
        if let participant { metadata["participant"] = "\(participant)" }
        write(.info, "recording started", recordings, room: info.room, metadata)
    }

    func recordingRefused(_ error: ConferenceError, room: String, by participant: String?) {
        var metadata: Logger.Metadata = [:]
        if let participant { metadata["participant"] = "\(participant)" }
        write(.notice, "recording refused: \(error)", recordings, room: room, metadata)
    }

    /// - Parameter text: has no credentials of the stream's URL.
    func stream(_ info: StreamInfo, _ text: String, _ level: Logger.Level = .info) {
        write(level, text, streams, room: info.room, ["stream": "\(info.id)"])
    }

    /// Of an input, whose reason comes without what is secret in its URL.
    func input(_ info: InputInfo) {
        write(
            info.state == .failed || info.state == .retrying ? .notice : .info,
            "input \(info.state.rawValue)" + (info.reason.map { ": \($0)" } ?? ""), recordings, room: info.room,
            ["input": "\(info.id)", "url": "\(info.url)"])
    }

    func recordingEnded(_ info: RecordingInfo) {
        let metadata: Logger.Metadata = ["recording": "\(info.id)", "state": "\(info.state.rawValue)"]
        if let failure = info.failure {
            let level = info.state == .failed ? Logger.Level.error : .notice
            write(level, "recording ended: \(failure)", recordings, room: info.room, metadata)
        } else {
            write(.info, "recording stopped", recordings, room: info.room, metadata)
        }
    }
}
