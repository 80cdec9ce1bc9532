package import Basics
import Mixing
package import Peer
import Threads

/// Who sends and hears.
extension RoomEngine {
    /// Adds a participant.
    ///
    /// - Parameters:
    ///   - limit: asks for at most this bit rate of a picture, whatever its tiles need; nil: for what they need. Called
    ///     on any thread, as `requestKeyframe`.
    package func add(
        _ participant: String, hearsAs: String,
        limit: @escaping @Sendable (VideoSource, BitRate?) -> Void = { _, _ in },
        requestKeyframe: @escaping @Sendable (VideoSource) -> Void
    ) -> Intake {
        let delay = AudioDelay()
        let counters = services.decode.counters
        let pixels = SenderPixels(pixelsPerSecond: services.decode.pixelsPerSecond, at: services.now())
        let intake = Intake(
            video: VideoIntake(services: services.decode, pixels: pixels, audioDelay: delay, quality: quality) {
                requestKeyframe(.camera)
            },
            // A screen's delay is not the voice's. And of a screen nothing may be seen once it is not shared any more.
            screen: VideoIntake(
                services: services.decode, pixels: pixels, audioDelay: AudioDelay(), retainsPicture: false
            ) { requestKeyframe(.screen) },
            inbox: AudioInbox(counters: counters),
            statistics: AudioIntakeStatistics(counters: counters, quality: quality), audioDelay: delay,
            link: LinkGauges())
        let person = Person(
            intake: intake, requests: SenderRequests(keyframe: requestKeyframe, limit: limit), hearsAs: hearsAs)
        state.withLock { state in
            let cover = state.scene.cover
            for intake in intake.pictures { intake.setCanvas(width: cover.width, height: cover.height) }
            if state.people.updateValue(person, forKey: participant) == nil { services.audio.count(people: 1) }
            guard state.isRunning else { return }
            let known = state.scene.people.first { $0.id == participant }
            services.audio.execute { [id] rooms in
                var seat = person.audioSeat
                if let known { seat.apply(known) }
                rooms.all[id]?.seats[participant] = seat
            }
        }
        return intake
    }

    /// Adds a participant that has no peer: its audio and its pictures come by the result.
    package func addInput(_ participant: String) -> InputIntake {
        let intake = add(participant, hearsAs: participant) { _ in }
        return InputIntake(intake, services: services.decode, at: services.now())
    }

    package func remove(_ participant: String) {
        var intake: Intake?
        use(.participant(participant), false) { state in
            intake = state.people.removeValue(forKey: participant)?.intake
            if intake != nil { services.audio.count(people: -1) }
            services.audio.execute { [id] in $0.all[id]?.leave(participant) }
        }
        for picture in intake?.pictures ?? [] { picture.close() }
    }

    /// What the media of each participant are like now.
    package func figures(at now: Instant) -> [ParticipantFigures] {
        let intakes = state.withLock { $0.people.values.map(\.intake) }
        return intakes.map { ParticipantFigures($0, at: now) }
    }

    package func intake(_ participant: String) -> Intake? { state.withLock { $0.people[participant]?.intake } }

    /// Sets how a participant's audio is coded, and the peer that it is sent to; nil: none.
    func setAudio(_ participant: String, profile: AudioProfile, receiverLimits: OpusReceiverLimits, to seat: PeerID?) {
        use(.participant(participant), seat != nil) { state in
            guard var person = state.people[participant] else {
                // The participant has left and may not keep the room running.
                state.users.remove(.participant(participant))
                return
            }
            (person.profile, person.receiverLimits, person.seat) = (profile, receiverLimits, seat)
            state.people[participant] = person
            services.audio.execute { [id] rooms in
                rooms.all[id]?.seats[participant]?.profile = profile
                rooms.all[id]?.seats[participant]?.receiverLimits = receiverLimits
                rooms.all[id]?.seats[participant]?.destination = seat
            }
        }
    }

    /// The loops that connected participants are on.
    var loops: Set<Int> { state.withLock { state in Set(state.people.values.compactMap { $0.seat?.loop }) } }
}
