import Basics
import Mixing
import Peer

extension RoomEngine {
    /// The state of a participant from which its audio can be started at any time.
    struct Person: Sendable {
        let intake: Intake
        let requests: SenderRequests
        var hearsAs: String
        var profile = AudioProfile.narrow
        var receiverLimits = OpusReceiverLimits()
        /// The connected peer.
        var seat: PeerID?
    }

    /// A user of the room's output.
    enum User: Hashable {
        case participant(String)
        case tap(String)
        case snapshot(Int)
    }

    struct State {
        var scene: Scene
        var views: [ViewID: MixView] = [:]
        /// The tiles of each view while the engine is stopped.
        var arrangements: [ViewID: Arrangement] = [:]
        var people: [String: Person] = [:]
        var users: Set<User> = []
        var snapshots = 0
        /// The views of the snapshots that wait for their picture, by their numbers.
        var snapshotViews: [Int: ViewID] = [:]
        var taps = RoomTaps()
        /// The scene as it leaves the room; nil while nobody is left out and no view without somebody is made.
        var outgoingScene: Scene?
        var isClosed = false
        /// Views that are not made any more, whose members get frames as they come until another view's keyframe, and until
        /// when; nil: no tick has come since.
        var lingering: [(view: MixView, until: Instant?)] = []

        var isRunning: Bool { !users.isEmpty && !isClosed }

        /// The pictures that have fewer frames under overload: those beside the `main` of each group, where the room
        /// makes several, and that nothing outside the room takes.
        var sparedViews: Set<ViewID> {
            let inRoom = views.keys.filter { !$0.isOutgoing }
            let beside = inRoom.filter { $0 != .main(of: $0.group) }
            return inRoom.count > 1 ? Set(beside).subtracting(taps.views) : []
        }

        mutating func noteOutgoingScene() {
            let isNeeded = scene.hasUnrecorded || views.keys.contains(where: \.isOutgoing)
            outgoingScene = isNeeded ? scene.outgoing(taps.cuts) : nil
        }

        /// Takes out the pictures without participants that nothing takes any more.
        mutating func endOutgoing() -> [MixView] {
            let taken = Set(taps.takenViews + snapshotViews.values.map { taps.outgoing($0, of: scene) })
            defer { noteOutgoingScene() }
            return views.keys.filter { $0.isOutgoing && !taken.contains($0) }.compactMap {
                views.removeValue(forKey: $0)
            }
        }

        /// What sends a picture: its intake, which of the sender's pictures it is, and how the sender is asked; nil: nobody
        /// of the scene.
        func sender(of picture: String) -> (intake: VideoIntake, source: VideoSource, requests: SenderRequests)? {
            guard let shown = scene.people.first(where: { $0.id == picture }), let person = people[shown.sender] else {
                return nil
            }
            let intake = shown.source == .screen ? person.intake.screen : person.intake.video
            return (intake, shown.source, person.requests)
        }

        /// The intakes of the scene's pictures, by their ids.
        var intakes: [String: VideoIntake] {
            var intakes: [String: VideoIntake] = [:]
            for person in scene.people {
                guard let intake = people[person.sender]?.intake else { continue }
                intakes[person.id] = person.source == .screen ? intake.screen : intake.video
            }
            return intakes
        }
    }
}

extension RoomEngine.Person {
    var audioSeat: AudioRoom.Seat {
        var seat = AudioRoom.Seat(
            intake: AudioIntake(inbox: intake.inbox, statistics: intake.statistics, audioDelay: intake.audioDelay),
            hearsAs: hearsAs)
        (seat.profile, seat.receiverLimits, seat.destination) = (profile, receiverLimits, self.seat)
        return seat
    }
}
