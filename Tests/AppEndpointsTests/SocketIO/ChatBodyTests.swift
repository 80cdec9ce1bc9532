import Foundation
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

/// FLSocketIM's Android model of a message, with the types that fastjson 1.1.67 demands of the JSON: a value of another
/// type, or an unknown word of an enumeration, ends that app.
private struct AndroidMessage: Decodable {
    enum ChatType: String, Decodable { case chat, groupChat }
    enum Kind: String, Decodable { case txt, img, audio, loc }

    struct Body: Decodable {
        var type: Kind
        var msg: String?
        /// `HashMap<String, Integer>`: the list of messages reads both numbers of each picture.
        var size: [String: Int]?
        var thumbnailRemotePath: String?
        var duration: Int?
        var latitude: Double?
        var longitude: Double?
        var locationName: String?
        var detailLocationName: String?
        var fileName: String?
        var fileRemotePath: String?
    }

    var msg_id: String
    var timestamp: Int
    var sendTime: Int
    var from_user: String
    var to_user: String
    var chat_type: ChatType
    /// The ordinal of an enumeration of three. Without one the app does not store the message.
    var sendStatus: Int
    var bodies: Body
}

@Suite struct ChatBodyTests {
    private static let file: JSONValue = ["_placeholder": true, "num": 0]

    /// GIF89a of 320×200.
    private static let gif = BinaryMessage(Array("GIF89a".utf8) + [0x40, 1, 200, 0])

    /// What a recipient gets, as its app reads it.
    private func received(_ message: JSONValue, _ file: BinaryMessage = gif) throws -> AndroidMessage {
        var envelope = try #require(ChatEnvelope(message, [file], from: "alice"))
        envelope.stamp(id: "m1", at: Date(timeIntervalSince1970: 1_700_000_000), path: "images/k.gif")
        #expect(envelope.acknowledgement["timestamp"] == 1_700_000_000_000)
        let read = try JSON.decode(AndroidMessage.self, from: envelope.delivery.argument.bytes)
        #expect(read.from_user == "alice" && read.msg_id == "m1" && (0...2).contains(read.sendStatus))
        return read
    }

    private func message(_ bodies: JSONValue) -> JSONValue { ["to_user": "bobby", "bodies": bodies] }

    @Test func `a picture has its size in whole pixels, a recording has none`() throws {
        let picture = try received(message(["type": "img", "fileName": "a.gif", "fileData": Self.file]))
        #expect(picture.bodies.size == ["width": 320, "height": 200])
        let recording = try received(
            message(["type": "audio", "fileName": "a.amr", "duration": 3.6, "size": 5006, "fileData": Self.file]))
        #expect(recording.bodies.size == nil && recording.bodies.duration == 4)
    }

    @Test(
        arguments: [
            // The iOS app's numbers, after its own scaling.
            (["width": 150.0, "height": 112.4], ["width": 150, "height": 112]),
            (["width": 10, "height": 20], ["width": 10, "height": 20]),
            (480_093, ["width": 320, "height": 200]), ("big", ["width": 320, "height": 200]),
            (["width": 10], ["width": 320, "height": 200]),
            (["width": "10", "height": "20"], ["width": 320, "height": 200]),
            (["width": 0, "height": -1], ["width": 320, "height": 200]), ([1, 2], ["width": 320, "height": 200]),
            (["width": 1e300, "height": 1], ["width": 320, "height": 200]),
        ] as [(JSONValue, [String: Int])])
    func `a size of the sender's is taken if it is one`(given: JSONValue, size: [String: Int]) throws {
        let read = try received(message(["type": "img", "size": given, "fileData": Self.file]))
        #expect(read.bodies.size == size)
    }

    @Test func `a picture whose header names no size has one, which the app reads without a check`() throws {
        let read = try received(message(["type": "img", "fileData": Self.file]), BinaryMessage([1, 2, 3]))
        #expect(read.bodies.size == ["width": 300, "height": 300])
    }

    @Test(arguments: ["txt", "img", "audio", "loc"]) func `members of wrong types never reach an app`(type: String)
        throws
    {
        let keys = [
            "msg", "size", "thumbnailRemotePath", "originImagePath", "duration", "latitude", "longitude",
            "locationName", "detailLocationName", "fileName", "fileRemotePath", "@type", "$ref",
        ]
        for value in [7, 1.5, "x", true, .null, [1], ["a": 1]] as [JSONValue] {
            var bodies = Dictionary(keys.map { ($0, value) }) { first, _ in first }
            (bodies["type"], bodies["fileData"]) = (.string(type), Self.file)
            let members = ["msg_id", "timestamp", "sendtime", "sendTime", "chat_type", "sendStatus", "type", "@type"]
            var all = Dictionary(members.map { ($0, value) }) { first, _ in first }
            (all["to_user"], all["bodies"]) = ("bobby", .object(bodies))
            let read = try received(.object(all))
            #expect(read.bodies.type.rawValue == type)
            let isPicture = type == "img"
            #expect((read.bodies.size != nil) == isPicture)
            var envelope = try #require(ChatEnvelope(.object(all), [Self.gif], from: "alice"))
            envelope.stamp(id: "m1", at: .now, path: nil)
            let text = String(decoding: envelope.delivery.argument.bytes, as: UTF8.self)
            #expect(!text.contains("@type") && !text.contains("$ref") && !text.contains("originImagePath"))
        }
    }

    @Test func `what a screen reads is there, also where the sender left it out`() throws {
        #expect(try received(message(["type": "txt"])).bodies.msg == "")
        let place = try received(message(["type": "loc"])).bodies
        #expect(place.locationName == "" && place.detailLocationName == "" && place.latitude == 0)
        #expect(place.longitude == 0 && place.fileRemotePath == "images/k.gif")
        let recording = try received(message(["type": "audio", "fileData": Self.file])).bodies
        #expect(recording.fileName == "file" && recording.duration == 0)
    }

    @Test(arguments: [
        ("a.jpg", "a.jpg"), ("../../shared_prefs/x.xml", "x.xml"), ("/etc/passwd", "passwd"), ("..", "file"),
        ("", "file"),
        ("a/..", "file"), ("c:\\a\\b.png", "b.png"), ("图.png", "图.png"), ("a\u{0}b", "file"),
    ]) func `a file's name is no path`(given: String, name: String) throws {
        let read = try received(message(["type": "img", "fileName": .string(given), "fileData": Self.file]))
        #expect(read.bodies.fileName == name)
    }

    @Test func `a message of the server's own, and a room's picture, can be read too`() throws {
        for envelope in [
            ChatEnvelope(from: "room_r", to: "bobby", text: "hello"),
            ChatEnvelope(from: "room_r", to: "bobby", picture: Self.gif, name: "k.gif"),
        ] {
            var envelope = envelope
            envelope.stamp(id: "m", at: .now, path: "images/k.gif")
            let read = try JSON.decode(AndroidMessage.self, from: envelope.delivery.argument.bytes)
            #expect(read.from_user == "room_r" && read.sendTime > 0)
            #expect(read.bodies.type != .img || read.bodies.size == ["width": 320, "height": 200])
        }
    }
}
