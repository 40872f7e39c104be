use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::{sleep, spawn};

use super::*;

fn start(script: &str) -> Child {
    let mut python = Command::new("python3");
    let mut child = python.args(["-uc", script]).stdout(Stdio::piped()).spawn().unwrap();
    // It says when it is ready, by a line.
    let mut byte = [0];
    while byte != *b"\n" {
        child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
    }
    child
}

fn state(pid: Pid) -> String {
    let path = PathBuf::from(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let stat = std::fs::read_to_string(path).unwrap();
    stat.rsplit(") ").next().unwrap()[..1].to_owned()
}

#[test]
fn all_threads_stand_still_and_go_on() {
    let script = "import threading,time\n\
        for i in range(20): threading.Thread(target=time.sleep,args=(1,)).start()\n\
        print('ready'); time.sleep(0.5); print('done')";
    let child = start(script);
    let pid = Pid::from_child(&child);
    spawn(move || {
        let stopped = Stopped::stop(pid).unwrap();
        assert_eq!(stopped.threads().count(), 21);
        for thread in stopped.threads() {
            let registers = stopped.registers(thread).unwrap();
            assert!(registers.stack_pointer() > 4096 && registers.words().count() > 60);
        }
        assert_eq!(state(pid), "t");
    })
    .join()
    .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"done\n"[..]));
}

/// Of a library, so that a language's own retries do not hide what happened.
#[test]
fn no_call_fails_as_interrupted() {
    let script = "import ctypes,threading,os,socket\n\
        c=ctypes.CDLL(None,use_errno=True)\n\
        r,w=os.pipe(); e=c.epoll_create1(0); s=socket.socketpair()[0]; s.settimeout(None)\n\
        f=(ctypes.c_int*2)(r,1); b=ctypes.create_string_buffer(64); out=[]\n\
        t=(ctypes.c_long*2)(1,0); sem=c.semget(0,1,0o600); op=(ctypes.c_short*3)(0,-1,0)\n\
        word=ctypes.c_int(0)\n\
        def call(name,want,*a): out.append((name, getattr(c,name)(*a)==want))\n\
        calls=[('epoll_wait',0,e,b,1,1000),('nanosleep',0,t,None),('poll',0,f,1,1000),\n\
        ('semtimedop',-1,sem,op,1,t),('syscall',-1,202,ctypes.byref(word),0,0,t,None,0)]\n\
        threads=[threading.Thread(target=call,args=a) for a in calls]\n\
        [t.start() for t in threads]; print('ready'); [t.join() for t in threads]\n\
        c.semctl(sem,0,0)\n\
        print(sorted(out))";
    let child = start(script);
    let pid = Pid::from_child(&child);
    for _ in 0..3 {
        spawn(move || drop(Stopped::stop(pid).unwrap())).join().unwrap();
        sleep(Duration::from_millis(50));
    }
    let output = child.wait_with_output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(output.contains("epoll_wait") && !output.contains("False"), "{output}");
}

#[test]
fn who_is_gone_or_traced_is_told() {
    let mut child = start("print()");
    let pid = Pid::from_child(&child);
    child.wait().unwrap();
    let stopped = spawn(move || Stopped::stop(pid).map(drop)).join().unwrap();
    assert!(matches!(stopped, Err(StopError::Gone)), "{stopped:?}");
    let mut child = start("import time; print(); time.sleep(5)");
    let pid = Pid::from_child(&child);
    let twice = spawn(move || {
        let _first = Stopped::stop(pid).unwrap();
        spawn(move || Stopped::stop(pid).map(drop)).join().unwrap()
    });
    let twice = twice.join().unwrap();
    assert!(matches!(twice, Err(StopError::Traced(_))), "{twice:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}
