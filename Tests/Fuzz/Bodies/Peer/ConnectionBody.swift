import Basics
import Fuzzing

@testable import Peer

/// The connected peer as a whole: everything that its far end, which has all keys, can send in any order, while the
/// server sends media of its own.
enum ConnectionBody {
    static let target = FuzzTarget(
        "connection", covers: "a connected peer: media, reports, channels, offers, checks and time in one stream",
        limits: WorkLimits(
            base: .milliseconds(8), perByte: .nanoseconds(100), perStep: .microseconds(20), memory: 12 << 20),
        maximumLength: 4096,
        seededRounds: 200,
        seeds: { ConnectionSeeds.all }, body: run)

    /// The most work that one input may cause.
    private static let mostBytes = 512 << 10
    /// The most work of one operation, so that others can follow.
    private static let mostBurst = 256 << 10
    private static let mostOperations = 200

    private static func run(_ input: FuzzInput, _ work: inout Work) {
        var input = input
        let choice = Int(input.byte())
        guard let peer = ConnectedPeer(choice: choice) else { fatalError("connection: none with offer \(choice)") }
        var media = RTPScript()
        work.start()
        var operations = 0
        while !input.isEmpty, operations < mostOperations, work.bytes < mostBytes, !peer.server.isEnded {
            operations += 1
            work.step()
            operate(&input, peer, &media, &work)
            peer.settle(&work)
            _ = peer.server.nextDeadline(after: peer.now)
        }
        _ = peer.server.statistics(at: peer.now)
        work.weigh()
        peer.server.close(at: peer.now)
        peer.server.flush { _, _ in }
    }

    private static func operate(
        _ input: inout FuzzInput, _ peer: ConnectedPeer, _ media: inout RTPScript, _ work: inout Work
    ) {
        switch Operation(rawValue: input.byte() % Operation.count) {
        case .wait: peer.wait(.milliseconds(waits[input.below(waits.count)]), &work)
        case .media:
            guard let session = peer.server.negotiated else { return }
            let flow = STUNBody.flow(0)
            let end = min(work.bytes + mostBurst, mostBytes)
            for packet in media.packets(&input, of: session) where work.bytes < end {
                peer.receive(rtp: packet, on: flow, &work)
            }
        case .reports: peer.receive(rtcp: script(peer).compound(&input), &work)
        case .rawMedia: peer.receive(rtp: input.chunk(), &work)
        case .rawReports: peer.receive(rtcp: input.chunk(), &work)
        case .channels:
            let most = min(mostBurst, mostBytes - work.bytes)
            peer.withChannels({ $0.packets(&input, most: most) }, &work)
        case .check: check(&input, peer, &work)
        case .datagram:
            let flow = STUNBody.flow(input.below(8))
            peer.receive(input.chunk(), on: flow, &work)
        case .offer: peer.answer(edited(peer.offer, &input), &work)
        case .frames:
            let size = 100 + Int(input.byte()) * 100
            for _ in 0..<input.repetitions(upTo: 30) {
                peer.sendFrame(bytes: size, &work)
                peer.wait(.milliseconds(40), &work)
            }
        case .sound:
            for _ in 0..<input.repetitions(upTo: 50) {
                peer.sendAudio([UInt8](repeating: 1, count: 80), &work)
                peer.wait(.milliseconds(20), &work)
            }
        case .setting: set(&input, peer, &work)
        case nil: break
        }
    }

    /// The operations of a script, by their first byte.
    enum Operation: UInt8, CaseIterable {
        case wait, media, reports, rawMedia, rawReports, channels, check, datagram, offer, frames, sound, setting

        static let count = UInt8(allCases.count)
    }

    private static let waits: [Int64] = [0, 1, 5, 10, 20, 50, 100, 200, 500, 1000, 2500, 7000, 16_000]

    private static func script(_ peer: ConnectedPeer) -> RTCPScript {
        let video = peer.server.sender.video
        return RTCPScript(
            sound: peer.server.sender.audio.stream.ssrc.rawValue, picture: video.stream.ssrc.rawValue,
            repair: video.repair.ssrc.rawValue, sent: peer.sent, packetsSent: peer.packetsSent)
    }

    /// A check with the current or with wrong credentials, from any flow; or a response to a check of the server.
    private static func check(_ input: inout FuzzInput, _ peer: ConnectedPeer, _ work: inout Work) {
        guard let session = peer.server.negotiated else { return }
        let shape = input.byte()
        var flow = STUNBody.flow(Int(shape >> 5))
        var message = STUNMessage(.request, transaction: STUNMessage.TransactionID(high: 3, low: UInt64(input.byte())))
        var password = session.localIce.password
        if shape & 1 != 0, let (id, asked) = peer.checks.last {
            message = STUNMessage(shape & 2 == 0 ? .success : .failure, transaction: id)
            password = session.remoteIce.password
            flow = asked
            if shape & 2 != 0 { message.errorCode = 400 + Int(input.byte()) }
        } else {
            message.username = "\(session.localIce.ufrag):\(session.remoteIce.ufrag)"
            message.priority = 1
            message.iceControlling = 1
            message.useCandidate = shape & 4 != 0
            if shape & 8 != 0 { message.iceControlled = 2 }
        }
        for _ in 0..<input.repetitions(upTo: 200) {
            peer.receive(message.encoded(password: shape & 16 == 0 ? password : "a wrong one"), on: flow, &work)
        }
    }

    private static func set(_ input: inout FuzzInput, _ peer: ConnectedPeer, _ work: inout Work) {
        let server = peer.server
        let now = peer.now
        switch input.below(11) {
        case 0: server.requestKeyframe(at: now)
        case 1: server.setReceiveLimit(.kilobits(Int(input.number16())), at: now)
        case 2: server.setWantedLayer(height: Int(input.byte()) * 8, at: now)
        case 3: server.restartVideo(at: now)
        case 4: server.audioRepetition = [.none, .copies([1]), .copies([1, 2, 4]), .doubled][input.below(4)]
        case 5: server.openChannel(label: "ours", maxRetransmits: input.byte() & 1 == 0 ? 0 : nil, at: now)
        case 6:
            let id = peer.channelIDs.isEmpty ? 1 : peer.channelIDs[input.below(peer.channelIDs.count)]
            let size = input.byte() & 1 == 0 ? 1 : 16_000
            for _ in 0..<input.repetitions(upTo: 512) {
                work.step()
                server.sendMessage(.binary([UInt8](repeating: 1, count: size)), on: id, at: now)
            }
        case 7: server.closeChannel(ChannelID(input.byte()), at: now)
        case 8:
            _ = try? server.restartICE(
                remote: ICECredentials(ufrag: "anew\(input.byte())", password: ConnectedPeer.credentials.password),
                at: now)
        case 9: server.addRemoteCandidate(String(decoding: input.chunk(), as: UTF8.self), at: now)
        default: server.removeFlow(STUNBody.flow(input.below(8)), at: now)
        }
    }

    /// The last offer with a few lines removed, duplicated, moved or changed.
    private static func edited(_ offer: String, _ input: inout FuzzInput) -> String {
        var lines = offer.split(whereSeparator: \.isNewline).map { Array($0.utf8) }
        for _ in 0..<input.below(5) where !lines.isEmpty {
            let index = Int(input.number16()) % lines.count
            switch input.below(6) {
            case 0: lines.remove(at: index)
            case 1: lines.insert(lines[index], at: Int(input.number16()) % lines.count)
            case 2: lines[index] = input.chunk()
            case 3:
                let at = Int(input.byte()) % max(lines[index].count, 1)
                lines[index] = lines[index][..<at] + input.chunk()
            case 4: lines.insert(input.chunk(), at: index)
            default:
                for (place, line) in lines.enumerated() where line.starts(with: Array("a=ice-ufrag:".utf8)) {
                    lines[place] = Array("a=ice-ufrag:new\(input.byte())".utf8)
                }
            }
        }
        return DescriptionBody.expand(Array(lines.joined(separator: [10])))
    }
}
