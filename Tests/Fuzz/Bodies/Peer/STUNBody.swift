import Basics
import Fuzzing

@testable import Peer

/// STUN messages for an agent of either role, on several flows, and the table that assigns datagrams to peers.
enum STUNBody {
    static let target = FuzzTarget(
        "stun", covers: "STUN messages, the ICE agent, the demultiplexer", maximumLength: 4096, seeds: { seeds },
        body: run)

    static let ours = ICECredentials(ufrag: "ours", password: "aPasswordOfEnoughLetters")
    static let theirs = ICECredentials(ufrag: "their", password: "anotherPasswordOfEnoughLetters")

    static func flow(_ number: Int) -> Flow {
        let remote = SocketAddress(
            .v4(0xC633_6400 + UInt32(number / 4)), port: number == 7 ? 0 : 50_000 + UInt16(number))
        return Flow(number == 5 ? .tcp : .udp, local: SocketAddress(.v4(0xC000_0201), port: 40_000), remote: remote)
    }

    private static func run(_ input: FuzzInput, _ work: inout Work) {
        var input = input
        let isLite = input.byte() & 1 == 0
        var agent = ICEAgent(
            mode: isLite ? .lite : .controlling, local: ours, localAddresses: isLite ? [] : [flow(0).local],
            configuration: ICEConfiguration(),
            seed: 1,
            at: .zero)
        agent.setRemote(theirs, at: .zero)
        if !isLite { agent.addRemoteCandidate(.host(flow(0).remote), at: .zero) }
        var table = Demultiplexer<Int>(flowsPerPeer: 4)
        table.setUfrags([ours.ufrag], of: 0)
        table.setUfrags(["else"], of: 1)
        var asked: [STUNMessage.TransactionID] = []
        var now = Instant.zero
        work.start()
        while !input.isEmpty {
            let operation = input.below(10)
            let flow = flow(input.below(8))
            switch operation {
            case 0: now += .milliseconds(Int64(input.number16()))
            case 1, 2, 3:
                let bytes = message(&input, answering: asked)
                work.step(bytes: bytes.count)
                receive(bytes, flow, into: &agent, &table, at: now)
            case 4:
                let bytes = input.chunk()
                work.step(bytes: bytes.count)
                receive(bytes, flow, into: &agent, &table, at: now)
            case 5: agent.authenticMedia(on: flow, at: now)
            case 6: agent.remove(flow, at: now)
            case 7:
                let next = ICECredentials(ufrag: "next\(input.byte() % 4)", password: ours.password)
                agent.restart(local: next, at: now)
                table.setUfrags(agent.localUfrags, of: 0)
            case 8: agent.addFlow(flow, for: .host(flow.remote), at: now)
            default:
                table.remove(flow)
                table.bind(flow, to: input.below(3))
            }
            work.step()
            agent.advance(to: now)
            while let (bytes, _) = agent.nextTransmit() {
                work.step()
                bytes.withUnsafeBytes { raw in
                    if let id = STUNMessage(parsing: raw)?.transaction, asked.count < 32 { asked.append(id) }
                }
            }
            while agent.nextEvent() != nil {}
            if let deadline = agent.nextDeadline, deadline < now - .seconds(1) {
                fatalError("stun: a deadline is never done with")
            }
        }
        work.weigh()
    }

    private static func receive(
        _ bytes: [UInt8], _ flow: Flow, into agent: inout ICEAgent, _ table: inout Demultiplexer<Int>, at now: Instant
    ) {
        bytes.withUnsafeBytes { raw in
            let id = table.route(raw, flow: flow)
            _ = table.claimant(of: raw, flow: flow)
            guard DatagramKind(raw) == .stun else { return }
            agent.handle(stun: raw, flow: flow, at: now)
            table.claim(flow, by: id ?? 2, agent.latestClaim) { $0 == 0 && agent.isValidated(flow) }
        }
    }

    /// A valid message with the script's changes: attributes by bits, credentials, then raw attributes within the
    /// integrity.
    static func message(_ input: inout FuzzInput, answering asked: [STUNMessage.TransactionID]) -> [UInt8] {
        let shape = input.byte()
        let has = input.byte()
        var id = STUNMessage.TransactionID(high: input.number32(), low: 7)
        if shape & 0x30 != 0, !asked.isEmpty { id = asked[Int(id.high % UInt32(asked.count))] }
        let kinds: [STUNMessage.Class] = [.request, .success, .failure, .indication]
        var message = STUNMessage(kinds[Int(shape >> 4 & 3)], transaction: id)
        let toUs = message.messageClass == .request
        if has & 1 == 0 {
            message.username = toUs ? "\(ours.ufrag):\(theirs.ufrag)" : nil
        } else {
            message.username = String(decoding: input.chunk(), as: UTF8.self)
        }
        if has & 2 != 0 { message.useCandidate = true }
        if has & 4 != 0 { message.iceControlling = UInt64(input.number32()) << 32 }
        if has & 8 != 0 { message.iceControlled = UInt64(input.number32()) << 32 }
        if has & 16 != 0 { message.priority = input.number32() }
        if has & 32 != 0 { message.errorCode = Int(input.number16() % 800) }
        if has & 64 != 0 { message.xorMappedAddress = SocketAddress(.v4(input.number32()), port: input.number16()) }
        var password: String? = toUs ? ours.password : theirs.password
        if shape & 3 == 1 { password = nil }
        if shape & 3 == 2 { password = "a wrong one" }
        var bytes = message.encoded(password: password)
        if shape & 4 != 0 {
            // Raw attributes in front of all others, with a new length, integrity and fingerprint.
            let extra = input.chunk()
            bytes = sealed(
                Array(bytes[..<20]) + extra + Array(repeating: 0, count: -extra.count & 3), password: password)
        }
        if shape & 8 != 0, !bytes.isEmpty { bytes[Int(input.byte()) % bytes.count] ^= input.byte() }
        return bytes
    }

    /// A header with attributes, with valid integrity.
    static func sealed(_ message: [UInt8], password: String?) -> [UInt8] {
        var bytes = message
        if let password {
            STUNMessage.setLength(of: &bytes, to: bytes.count + 24 - STUNMessage.headerLength)
            STUNMessage.append(
                STUNMessage.AttributeType.messageIntegrity, STUNMessage.hmac(bytes, password: password), to: &bytes)
        }
        STUNMessage.setLength(of: &bytes, to: bytes.count - STUNMessage.headerLength)
        return bytes
    }

    private static var seeds: [[UInt8]] {
        var request = STUNMessage(.request, transaction: STUNMessage.TransactionID(high: 1, low: 2))
        request.username = "\(ours.ufrag):\(theirs.ufrag)"
        request.priority = 1
        request.iceControlling = 7
        request.useCandidate = true
        var success = STUNMessage(.success, transaction: STUNMessage.TransactionID(high: 1, low: 2))
        success.xorMappedAddress = SocketAddress(.v4(0xC000_0201), port: 4000)
        let raw = [request.encoded(password: ours.password), success.encoded(password: nil)]
        return raw.flatMap { bytes in
            [0, 1].map { role in
                var script = FuzzScript()
                script.byte(role)
                script.raw([4, 0])
                script.chunk(bytes)
                // A valid check, a response, time.
                script.raw([1, 0, 0, 2 | 4 | 16, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 1, 0])
                script.raw([0, 0, 0, 50, 5, 0, 0, 0, 0, 50, 1, 1, 0x10, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
                return script.bytes
            }
        }
    }
}
