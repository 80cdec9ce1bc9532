import Basics
import Codecs
import Glibc
import Mixing

/// An encoded tick of audio for one peer.
package struct AudioDelivery: Sendable {
    var seat: PeerID
    var payload: [UInt8]
    var timestamp: Int64
    /// The level in −dBov (RFC 6464).
    var level: UInt8
}

/// The speakers of a group, as the room's audio thread detects them.
package struct Speakers: Hashable, Sendable {
    /// The dominant speaker.
    package var active: String?
    /// Past and present speakers, the latest first.
    package var ranks: [String] = []
    /// Everyone who speaks now.
    package var speaking: Set<String> = []
    /// Everyone who ever spoke, by the loudness of the last seconds, the loudest first.
    package var loudest: [String] = []

    package init(active: String? = nil, ranks: [String] = [], speaking: Set<String> = [], loudest: [String] = []) {
        self.active = active
        self.ranks = ranks
        self.speaking = speaking
        self.loudest = loudest
    }
}

/// The audio of one room. Confined to the audio thread.
///
/// Each breakout group has a mix of its own, and so have those who hear several groups. A voice is decoded once for all.
final class AudioRoom {
    struct Seat {
        var intake: AudioIntake
        var gain: Float = 1
        /// Whether the participant is in the mix.
        var isHeard = true
        /// Whether the participant may have a track of its own; false until the scene says so.
        var isRecorded = false
        /// The participant whose audio its mix leaves out.
        var hearsAs: String
        var profile = AudioProfile.clear
        var receiverLimits = OpusReceiverLimits()
        /// The peer that the mix is sent to; nil: none is connected.
        var destination: PeerID?
        /// See `Scene.Person`.
        var group = GroupID.main
        var alsoHears: Set<GroupID> = []
        var isHeardEverywhere = false

        /// The groups in its mix.
        var heardGroups: Set<GroupID> { alsoHears.union([group]) }
    }

    /// Takes the mix of those of a group who are recorded, and its room time at 48 kHz.
    struct Tap {
        var group: GroupID
        var take: @Sendable ([Float], Int64) -> Void
    }

    /// Takes the audio of all of a group who may be recorded.
    struct VoicesTap {
        var group: GroupID
        var take: @Sendable ([TrackVoice], Int64) -> Void
    }

    var seats: [String: Seat] = [:] { didSet { hasNewSeats = true } }
    private var taps: [String: Tap] = [:]
    /// While there is one, everybody of its group is decoded.
    private var trackTaps: [String: VoicesTap] = [:]

    private let bitRate: BitRate
    private let maxSpeakers: Int
    private let levelsVoices: Bool
    /// Of the participants whose audio has been heard, where voices are brought to a common loudness.
    private var levellers: [String: VoiceLeveller] = [:]
    private var mixes: [Set<GroupID>: VoiceMix] = [:]
    /// The mix that each seat gets.
    private var mixOf: [String: VoiceMix] = [:]
    /// Whether a seat or a tap has changed since the mixes were chosen.
    private var hasNewSeats = true
    private var speech: [GroupID: GroupSpeech] = [:]
    /// The ticks so far.
    private var ticks = 0
    /// Shared with the thread's other rooms.
    var silence = SilencePackets()
    private var sampleBuffers: [String: [Float]] = [:]
    /// Participants who left since the last tick: one more tick of their audio fades out.
    private var leaving: [String: Seat] = [:]
    /// The participants who are not recorded, and those of `leaving` who were not.
    private var unrecorded: Set<String> = []
    private var leavingUnrecorded: Set<String> = []
    private let speakersChanged: @Sendable (GroupID, Speakers) -> Void

    init(
        configuration: RoomMediaConfiguration.Audio, speakersChanged: @escaping @Sendable (GroupID, Speakers) -> Void
    ) {
        maxSpeakers = max(1, configuration.maxSpeakers)
        bitRate = configuration.bitRate
        levelsVoices = configuration.level == .auto
        self.speakersChanged = speakersChanged
    }

    /// Takes over the room's settings of its participants.
    func apply(_ people: [Scene.Person]) {
        for person in people where seats[person.id] != nil {
            seats[person.id]?.apply(person)
        }
        unrecorded = Set(people.lazy.filter { !$0.isRecorded }.map(\.id))
    }

    /// Removes a participant, whose audio fades out without a click.
    func leave(_ id: String) {
        guard let seat = seats.removeValue(forKey: id) else { return }
        // Also one that it heard before it went into a group.
        for mix in mixes.values { mix.forget(id) }
        leaving[id] = seat
        if unrecorded.contains(id) { leavingUnrecorded.insert(id) }
    }

    // MARK: - Taps

    func tap(_ name: String, of group: GroupID = .main, _ take: @escaping @Sendable ([Float], Int64) -> Void) {
        taps[name] = Tap(group: group, take: take)
        hasNewSeats = true
    }

    func tapVoices(
        _ name: String, of group: GroupID = .main, _ take: @escaping @Sendable ([TrackVoice], Int64) -> Void
    ) {
        trackTaps[name] = VoicesTap(group: group, take: take)
    }

    func endTap(_ name: String) {
        taps[name] = nil
        hasNewSeats = true
    }

    func endVoicesTap(_ name: String) { trackTaps[name] = nil }

    // MARK: - Mixes

    /// The mix of a group; nil before the first tick.
    func mix(of group: GroupID = .main) -> VoiceMix? { mixes[[group]] }

    /// The encoders that the room has, or had within the last ten seconds.
    var encoderCount: Int { mixes.values.reduce(0) { $0 + $1.encoderCount } }

    /// Makes the mixes that somebody takes, and forgets the others. Each group has one, by which its speakers are found.
    private func chooseMixes() {
        hasNewSeats = false
        var wanted: [Set<GroupID>: VoiceMix] = [:]
        func mix(of groups: Set<GroupID>) -> VoiceMix {
            let mix =
                wanted[groups] ?? mixes[groups]
                ?? VoiceMix(of: groups, maxSpeakers: maxSpeakers, bitRate: bitRate, silence: silence)
            wanted[groups] = mix
            return mix
        }
        _ = mix(of: [.main])
        for tap in taps.values { _ = mix(of: [tap.group]) }
        mixOf.removeAll(keepingCapacity: true)
        for (id, seat) in seats {
            _ = mix(of: [seat.group])
            mixOf[id] = mix(of: seat.heardGroups)
        }
        // Who leaves fades out of the mixes that it was in.
        for seat in leaving.values { if let old = mixes[[seat.group]] { wanted[[seat.group]] = old } }
        mixes = wanted
        speech = speech.filter { wanted[[$0.key]] != nil }
    }

    // MARK: - Ticks

    /// Mixes the tick at `now` and appends each peer's packet.
    func tick(_ now: Instant, into deliveries: inout [AudioDelivery]) {
        if hasNewSeats { chooseMixes() }
        let voices = collect(now)
        let leftOut = unrecorded.union(leavingUnrecorded)
        for mix in mixes.values {
            let isTapped = taps.values.contains { mix.groups == [$0.group] }
            mix.mix(voices, leftOut: leftOut, isTapped: isTapped, tick: ticks)
        }
        endLeaving()
        detectSpeakers(now)
        let timestamp = now.ticks(at: 48_000)
        for tap in taps.values { if let mix = mixes[[tap.group]] { tap.take(mix.outgoing, timestamp) } }

        for (id, seat) in seats {
            guard let destination = seat.destination, let packet = mixOf[id]?.packet(for: id, seat, at: now) else {
                continue
            }
            let earlier = Int64((packet.ticks - 1) * OpusEncoder.frameSize)
            deliveries.append(
                AudioDelivery(
                    seat: destination, payload: packet.payload, timestamp: timestamp - earlier, level: packet.level))
        }
        for mix in mixes.values {
            mix.endTick(now) { id in
                seats[id].map { $0.isHeardEverywhere || mix.groups.contains($0.group) } ?? false
            }
        }
        ticks &+= 1
    }

    private func endLeaving() {
        leavingUnrecorded.removeAll()
        if leaving.isEmpty { return }
        for id in leaving.keys { (sampleBuffers[id], levellers[id]) = (nil, nil) }
        leaving.removeAll()
        hasNewSeats = true
    }

    /// Takes the audio of all participants and returns the voices of those who are not silent.
    private func collect(_ now: Instant) -> [MixVoice] {
        var sources: [String] = []
        var tracks: [GroupID: [TrackVoice]] = [:]
        let tracked = Set(trackTaps.values.map(\.group))
        for (id, seat) in seats { seat.intake.collect(at: now, gain: seat.gain * levelling(id)) }
        let loudest = loudest(now)
        for (id, seat) in seats {
            var samples = sampleBuffers.removeValue(forKey: id) ?? []
            let isAudible =
                seat.isHeard && seat.gain > 0
                && loudest.map { $0.contains(id) || seat.intake.rating(at: now) == nil } ?? true
            let isTracked = seat.isRecorded && tracked.contains(seat.group)
            let isSource = seat.intake.pull(
                at: now, isAudible: isAudible, decodesAlways: isTracked && seat.isHeard, into: &samples)
            if isSource { sources.append(id) }
            if isTracked {
                let isHeard = seat.isHeard && seat.intake.hasSound
                tracks[seat.group, default: []].append(
                    TrackVoice(
                        participant: id, samples: isHeard ? samples : nil, delay: seat.intake.captureDelay(at: now)))
            }
            if levelsVoices { level(id, &samples, isSource: isSource) }
            sampleBuffers[id] = samples
        }
        if !trackTaps.isEmpty {
            let timestamp = now.ticks(at: 48_000)
            for tap in trackTaps.values { tap.take(tracks[tap.group] ?? [], timestamp) }
        }
        for (id, seat) in leaving {
            seat.intake.collect(at: now)
            var samples = sampleBuffers.removeValue(forKey: id) ?? []
            if seat.intake.pull(at: now, into: &samples) { sources.append(id) }
            if levelsVoices { level(id, &samples, isSource: true) }
            sampleBuffers[id] = samples
        }
        // In a fixed order, so that equal levels give the same choice each tick.
        return sources.sorted().compactMap { id in
            // The mixer ramps a participant who has just been muted or has left to silence.
            guard let seat = seats[id] ?? leaving[id] else { return nil }
            let gain = seats[id] != nil && seat.isHeard ? seat.gain : 0
            return MixVoice(
                id: id, samples: sampleBuffers[id] ?? [], gain: gain, group: seat.group,
                isHeardEverywhere: seat.isHeardEverywhere)
        }
    }

    /// Brings a tick of a participant's voice to the common loudness.
    private func level(_ id: String, _ samples: inout [Float], isSource: Bool) {
        guard isSource else {
            levellers[id]?.skip()
            return
        }
        samples.withUnsafeMutableBufferPointer { levellers[id, default: VoiceLeveller()].process($0) }
    }

    /// The factor that brings a participant's voice to the common loudness.
    private func levelling(_ id: String) -> Float { levellers[id]?.factor ?? 1 }

    /// The participants to decode where a mix has more than are mixed at once; nil: all who do not rest.
    private func loudest(_ now: Instant) -> Set<String>? {
        let most = maxSpeakers + AudibleVoices.spare
        guard seats.count > most else { return nil }
        var loudest: Set<String> = []
        for mix in mixes.values {
            let heard = seats.filter { $0.value.isHeardEverywhere || mix.groups.contains($0.value.group) }
            if heard.count <= most {
                loudest.formUnion(heard.keys)
                continue
            }
            var ratings: [(id: String, rating: Double)] = []
            for (id, seat) in heard where seat.isHeard {
                guard let rating = seat.intake.rating(at: now), rating > -Double(AudioSuspension.quiet) else {
                    continue
                }
                // A gain above 1 is in the rating already (`AudioIntake.collect`).
                ratings.append((id, rating + 20 * log10(Double(min(1, max(seat.gain * levelling(id), 0.001))))))
            }
            loudest.formUnion(mix.loudest(ratings, at: now))
        }
        return loudest
    }

    private func detectSpeakers(_ now: Instant) {
        var levels: [GroupID: [String: Double]] = [.main: [:]]
        for (id, seat) in seats {
            levels[seat.group, default: [:]][id] = mixes[[seat.group]]?.level(of: id) ?? LevelMeter.silence
        }
        for (group, levels) in levels {
            if let heard = speech[group, default: GroupSpeech()].update(levels, at: now) {
                speakersChanged(group, heard)
            }
        }
    }
}

extension AudioRoom.Seat {
    /// Takes over what the scene says of the participant.
    mutating func apply(_ person: Scene.Person) {
        (gain, isHeard, isRecorded, hearsAs) = (person.gain, person.sendsAudio, person.isRecorded, person.hearsAs)
        (group, alsoHears, isHeardEverywhere) = (person.group, person.alsoHears, person.isHeardEverywhere)
    }
}
