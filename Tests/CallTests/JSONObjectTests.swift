import Foundation
import Testing

@testable import Call

@Suite struct JSONObjectTests {
    @Test func `values come as Swift's own`() {
        let members = JSONObject.members(
            of: Data(#"{"t":"x","i":7,"d":1.5,"b":true,"n":null,"l":[1,"a",null],"o":{"k":false}}"#.utf8))
        #expect(members["t"] as? String == "x" && members["i"] as? Int == 7 && members["d"] as? Double == 1.5)
        #expect(members["b"] as? Bool == true && members["n"] == nil)
        #expect((members["l"] as? [Any])?.count == 2)
        #expect((members["o"] as? [String: Any])?["k"] as? Bool == false)
        #expect(JSONObject.number(members["i"]) == 7 && JSONObject.number(members["d"]) == 1.5)
        #expect(JSONObject.number(members["t"]) == nil && JSONObject.number(nil) == nil)
    }

    @Test(arguments: ["", "[]", "7", "null", "{", #"{"a":}"#, "[{}]"]) func `other texts have no members`(text: String)
    {
        #expect(JSONObject.members(of: Data(text.utf8)).isEmpty)
    }

    @Test func `what is sent is read again`() throws {
        let bytes = try JSONObject.bytes(of: ["type": "join", "deltas": true, "n": 3, "resume": ["secret": "a\"ü/"]])
        let members = JSONObject.members(of: Data(bytes))
        #expect(members["type"] as? String == "join" && members["deltas"] as? Bool == true && members["n"] as? Int == 3)
        #expect((members["resume"] as? [String: Any])?["secret"] as? String == "a\"ü/")
        #expect(throws: EncodingError.self) { try JSONObject.bytes(of: ["a": UInt8(1)]) }
    }
}
