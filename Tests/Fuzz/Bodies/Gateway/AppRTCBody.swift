import Fuzzing

@testable import AppEndpoints
@testable import Gateway

/// What AppRTC's clients send: bodies of their requests, and frames of their WebSocket.
enum AppRTCBody {
    static let target = FuzzTarget(
        "apprtc", covers: "messages and frames of AppRTC's clients", limits: WorkLimits(perByte: .microseconds(4)),
        maximumLength: 65_536,
        words: [
            "\"type\"", "\"cmd\"", "\"register\"", "\"send\"", "\"msg\"", "\"offer\"", "\"candidate\"", "\"bye\"",
            "\"sdp\":", "null", "[[", "\\ud800",
        ],
        seeds: {
            [
                #"{"cmd":"register","roomid":"room12345","clientid":"53960850"}"#,
                #"{"cmd":"send","msg":"{\"type\":\"bye\"}"}"#, #"{"type":"offer","sdp":"v=0\r\n"}"#,
                #"{"type":"candidate","label":0,"id":"0","candidate":"candidate:1 1 udp 1 10.0.0.1 9 typ host"}"#,
                #"{"type":"remove-candidates","candidates":[{"label":0,"id":"0","candidate":"candidate:1"}]}"#,
                #"{"type":"bye"}"#,
            ].map { Array($0.utf8) }
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        _ = try? AppRTCMessage(input.bytes, sdpLimit: 65_536)
        for isRegistered in [false, true] {
            guard let command = try? AppRTCCommand(input.bytes, isRegistered: isRegistered),
                case .send(let text) = command
            else { continue }
            _ = try? AppRTCMessage(Array(text.utf8), sdpLimit: 65_536)
        }
        work.weigh()
    }
}
