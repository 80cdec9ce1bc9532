import Basics
import Peer
import RoomMedia
import Threads

extension Conference {
    /// A connection for one participant. On the loop.
    func makePeer(_ isViewer: Bool, at now: Instant) throws(ConferenceError) -> PeerConnection {
        var settings = PeerConfiguration(role: .server)
        settings.candidates = candidates
        settings.audio = isViewer ? .sendOnly : .sendReceive
        settings.video = isViewer ? .sendOnly : .sendReceive
        settings.videoCodecs = configuration.video.codecs
        settings.bandwidth.maximum = Ladder(configuration.video.renditions, width: 1920, height: 1080, framesPerSecond: 30).usefulRate
        settings.wallClockOffset = wallClockOffset
        do {
            return try PeerConnection(settings, identity: identity, at: now)
        } catch {
            throw .internalFailure("\(error)")
        }
    }

    public func statistics(_ id: String, in room: String) async throws(ConferenceError) -> ParticipantStatistics {
        _ = try participant(id, in: room)
        let intake = state.withLock { $0.rooms[room]?.engine.intake(id) }
        var figures = try await fromLoop { host, now -> Result<ParticipantStatistics, ConferenceError> in
            guard let seat = host.seat(id) else { return .success(ParticipantStatistics()) }
            return .success(PeerFigures.statistics(of: seat, at: now))
        }
        if let intake {
            (figures.receivedVideo.width, figures.receivedVideo.height) = intake.video.size
            figures.audioDelay = .nanoseconds(intake.figures.delay.load(ordering: .relaxed))
            figures.concealed = .nanoseconds(intake.figures.concealed.load(ordering: .relaxed) * 1_000_000_000 / 48_000)
            figures.freezes = intake.video.freezes
            figures.audioVideoOffset = intake.video.audioVideoOffset(at: MonotonicClock.now())
        }
        return figures
    }
}
