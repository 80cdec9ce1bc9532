import Basics
import Peer
import RoomMedia
import Simulation

/// A room in virtual time: its members share renditions as in `RoomMedia`, with encoders that make no pictures.
final class SimulatedRoom {
    static let framesPerSecond: Int64 = 30
    static let samplePeriod = Duration.milliseconds(50)

    private struct Rendition {
        var control: RenditionControl
        var encoder: SyntheticEncoder
    }

    let ladder: Ladder
    private(set) var members: [SimulatedMember] = []
    private(set) var now: Instant
    let start: Instant
    private var renditions: [RenditionKind: Rendition] = [:]
    private(set) var keyframesSent = 0
    private var audioTick = 0
    private var pictureTick: Int64
    private var nextSample: Instant
    private var seed: UInt64
    private let memberSeed: UInt64
    private let sendsPicture: BitRate?

    /// A room with one member for each link.
    init(links: [Link], sendsPicture: BitRate?, seed: UInt64) throws {
        ladder = Ladder(
            RoomMediaConfiguration.Rung.standard, width: 1280, height: 720, framesPerSecond: Int(Self.framesPerSecond))
        start = Instant(nanoseconds: 1_000_000_000_000)
        now = start
        nextSample = start
        pictureTick = start.ticks(at: Self.framesPerSecond)
        self.seed = seed
        memberSeed = seed
        self.sendsPicture = sendsPicture
        for link in links { try addMember(on: link) }
    }

    /// Adds a member that begins to connect now.
    func addMember(on link: Link) throws {
        let own = memberSeed &* 1000 &+ UInt64(members.count)
        var client = PeerConfiguration(role: .client)
        client.videoCodecs = [.vp8]
        client.bandwidth.start = .kilobits(300)
        var server = PeerConfiguration(role: .server)
        server.bandwidth.maximum = ladder.usefulRate
        let call = try SimulatedCall(
            client: client, server: server, clientIdentity: SimulatedIdentities.get().client,
            serverIdentity: SimulatedIdentities.get().server,
            up: link.up, down: link.down, seed: own, start: now)
        let member = SimulatedMember(
            id: "m\(members.count)", call: call, ladder: ladder, sendsPicture: sendsPicture, seed: own)
        member.attach(to: self)
        members.append(member)
        try call.negotiate()
    }

    struct Link {
        var up: LinkConditions
        var down: LinkConditions
    }

    // MARK: - Time

    func run(for duration: Duration) {
        let end = now + duration
        while true {
            let audio = start + .milliseconds(20) * audioTick
            let picture = Instant(ticks: pictureTick, at: Self.framesPerSecond)
            let next = min(audio, picture, nextSample)
            guard next <= end else { break }
            advance(to: next)
            if next == audio {
                for member in members { member.sendAudio(tick: audioTick, at: now) }
                audioTick += 1
            }
            if next == picture {
                for member in members { member.compose(at: now) }
                makePictures(at: now)
                for member in members { member.sendCamera(at: now) }
                pictureTick += 1
            }
            if next == nextSample {
                for member in members { member.sample(at: now) }
                nextSample += Self.samplePeriod
            }
            for member in members { member.call.settle() }
        }
        advance(to: end)
    }

    private func advance(to time: Instant) {
        for member in members where time > member.call.now { member.call.run(for: time - member.call.now) }
        now = time
    }

    // MARK: - Renditions

    func join(_ member: String, _ kind: RenditionKind, budget: BitRate?) {
        if renditions[kind] == nil {
            let rung = ladder.rung(for: kind)
            seed &+= 1
            renditions[kind] = Rendition(
                control: RenditionControl(rung: rung, kind: kind),
                encoder: SyntheticEncoder(
                    width: rung.width, height: rung.height, framesPerSecond: rung.framesPerSecond, temporalLayers: 2,
                    rate: rung.bitRate, tag: tag(of: kind), seed: seed))
        }
        renditions[kind]?.control.join(member, budget: budget)
    }

    func leave(_ member: String, _ kind: RenditionKind) {
        renditions[kind]?.control.leave(member)
        if renditions[kind]?.control.isEmpty == true { renditions[kind] = nil }
    }

    func setBudget(_ budget: BitRate, of member: String, _ kind: RenditionKind) {
        renditions[kind]?.control.setBudget(budget, of: member)
    }

    func awaitKeyframe(_ member: String, _ kind: RenditionKind) -> Duration {
        renditions[kind]?.control.awaitKeyframe(member, at: now) ?? .zero
    }

    func requestKeyframe(_ kind: RenditionKind, isUrgent: Bool) {
        renditions[kind]?.control.requestKeyframe(isUrgent: isUrgent)
    }

    func tag(of choice: RenditionSelector.Choice) -> UInt8 {
        ladder.kind(of: choice, hasScreen: false).map(tag) ?? .max
    }

    func tag(of kind: RenditionKind) -> UInt8 {
        switch kind {
        case .rung(let index), .screen(let index): UInt8(clamping: index)
        case .stills: Self.stillsTag
        case .joining: Self.joiningTag
        // A simulated room has no sender whose frames could go on.
        case .forwarded: .max
        }
    }
    static let stillsTag: UInt8 = 200
    static let joiningTag: UInt8 = 201

    private func makePictures(at now: Instant) {
        // The canvas changes with every tick, because people move.
        let generation = UInt64(bitPattern: pictureTick)
        for kind in renditions.keys.sorted(by: { tag(of: $0) < tag(of: $1) }) {
            guard var rendition = renditions[kind], rendition.control.wantsPicture(at: now, generation: generation)
            else { continue }
            rendition.control.noteQueued(picture: generation, at: now)
            let isKeyframe = rendition.control.takeKeyframe(at: now)
            rendition.encoder.maxPayload = rendition.control.maxPayload
            rendition.encoder.rate = rendition.control.rate
            let size = kind == .stills ? rendition.control.rate.bytes(in: .seconds(1)) : nil
            let frame = rendition.encoder.frame(at: now, isKeyframe: isKeyframe, size: size)
            if isKeyframe { keyframesSent += 1 }
            renditions[kind] = rendition
            for member in members { member.offer(frame, of: kind, room: self, at: now) }
        }
    }
}

/// Certificates that all simulated calls share, because generating keys is the slow part of a call.
enum SimulatedIdentities {
    private static let made = Result { (client: try DTLSIdentity.generate(), server: try DTLSIdentity.generate()) }
    static func get() throws -> (client: DTLSIdentity, server: DTLSIdentity) { try made.get() }
}
