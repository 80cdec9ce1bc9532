import Dispatch
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Mixing

@Suite("Layout library") struct LayoutLibraryTests {
    @Test("Every shipped file is built in") func shippedFiles() throws {
        let folder = (ShippedLayouts.path("grid") as NSString).deletingLastPathComponent
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        let names = files.filter { $0.hasSuffix(".json") && $0 != "schema.json" }.map { String($0.dropLast(5)) }
        #expect(Set(names) == Set(LayoutLibrary.builtInNames))
    }

    @Test("The built-in layouts are the shipped files", arguments: LayoutLibrary.builtInNames) func builtIn(
        name: String
    ) throws {
        let bytes = try #require(LayoutLibrary.read(ShippedLayouts.path(name)))
        #expect(bytes == BuiltInLayouts.files.first { $0.name == name }?.json)
        let layout = try Layout.parse(json: bytes, file: name)
        #expect(layout.name == name)
        #expect(LayoutLibrary.builtIn[name] != nil)
    }

    @Test("A library loads files, keeps the last valid one, and falls back to the built-in") func library() throws {
        let directory = ScratchDirectory(isMade: false)
        defer { withExtendedLifetime(directory) {} }
        let path = directory.path
        let library = LayoutLibrary(directory: path)
        #expect(
            library.poll().changed.isEmpty,
            "a directory that is not there is like an empty one, and is made for what is put")
        let json = "{\"name\": \"mine\", \"description\": \"d\", \"rules\": [{\"regions\": [{\"kind\": \"grid\"}]}]}"
        _ = try library.put(name: "mine", json: Array(json.utf8))
        #expect(library["mine"] != nil)
        let opened: UnsafeMutablePointer<FILE>? = fopen("\(path)/mine.json", "wb")
        let file = try #require(opened)
        fputs("{ \"name\": ", file)
        fclose(file)
        let change = library.poll()
        #expect(change.faults.count == 1)
        #expect(library["mine"] != nil)
        #expect(library.poll().faults.isEmpty)
        try library.delete(name: "mine")
        #expect(library["mine"] == nil)
        #expect(throws: LayoutLibrary.StoreError.self) { try library.delete(name: "grid") }
        #expect(throws: LayoutLibrary.StoreError.self) { _ = try library.put(name: "../up", json: Array(json.utf8)) }
    }

    @Test("What the nodes of a cluster share comes before files, is never written, and leaves them as they were")
    func shared() throws {
        func json(_ kind: String, name: String = "mine") -> [UInt8] {
            Array(
                "{\"name\": \"\(name)\", \"description\": \"\(kind)\", \"rules\": [{\"regions\": [{\"kind\": \"grid\"}]}]}"
                    .utf8)
        }
        let directory = ScratchDirectory()
        defer { withExtendedLifetime(directory) {} }
        let library = LayoutLibrary(directory: directory.path)
        _ = try library.put(name: "mine", json: json("a file"))
        #expect(library.share(name: "mine", json: json("shared")).changed == ["mine"])
        #expect(library.share(name: "mine", json: json("shared")).changed.isEmpty, "the same again")
        #expect(library["mine"]?.description == "shared")
        #expect(LayoutLibrary.read(directory.file("mine.json")) == json("a file"))

        // A file that comes or changes is told to be hidden.
        let file = try #require(fopen(directory.file("mine.json"), "wb"))
        fputs(String(decoding: json("a later file"), as: UTF8.self), file)
        fclose(file)
        let change = library.poll()
        #expect(change.changed.isEmpty && change.faults.count == 1)
        #expect(library["mine"]?.description == "shared")

        let bad = library.share(name: "mine", json: Array("{".utf8))
        #expect(!bad.faults.isEmpty && library["mine"]?.description == "shared", "the last valid one stays")
        #expect(library.share(name: "mine", json: nil).changed == ["mine"])
        #expect(library["mine"]?.description == "a later file")
        #expect(library.share(name: "grid", json: json("another", name: "grid")).changed == ["grid"])
        #expect(library.share(name: "grid", json: nil).changed == ["grid"])
        #expect(library["grid"] == LayoutLibrary.builtIn["grid"])
        #expect(throws: LayoutLibrary.StoreError.self) { try library.check(name: "mine", json: json("x", name: "y")) }
        try library.check(name: "mine", json: json("x"))
        #expect(library["mine"]?.description == "a later file", "a check changes nothing")
    }

    @Test("A lookup of a layout never waits for the disk") func slowDisk() async throws {
        let directory = ScratchDirectory()
        defer { withExtendedLifetime(directory) {} }
        let file = try #require(fopen(directory.file("grid.json"), "wb"))
        fputs("{}", file)
        fclose(file)
        let (began, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let library = LayoutLibrary(directory: directory.path) { _ in
            began.signal()
            // The read ends after a while, so that a library that waits for it fails instead of hanging.
            _ = goOn.wait(timeout: .now() + 5)
            return nil
        }
        async let polled = Task.detached { library.poll() }.value
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            DispatchQueue.global().async {
                began.wait()
                done.resume()
            }
        }
        let asked = ContinuousClock.now
        #expect(library["grid"] != nil && !library.all.isEmpty)
        #expect(ContinuousClock.now - asked < .seconds(4))
        goOn.signal()
        #expect(await polled.faults.count == 1)
    }
}
