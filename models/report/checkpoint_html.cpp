#include "models/report/checkpoint_report.hpp"

namespace softcheck::models {
namespace {

constexpr const char* before = R"html(<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>softcheck model</title>
<style>
:root{color-scheme:light dark;--edge:#8888}
body{font:15px/1.45 system-ui,sans-serif;max-width:75rem;margin:1.5rem auto;padding:0 1rem}
#maps{display:grid;grid-template-columns:repeat(auto-fit,minmax(22rem,1fr));gap:1.5rem}
.map{display:grid;gap:1px}.map button{border:0;padding:0;height:14px;min-width:0;cursor:pointer}
.map button:focus,.map .chosen{outline:3px solid #d55e00;z-index:1}
.bar{height:10px;background:linear-gradient(90deg,#00224e,#575d6d,#a59c74,#fee838)}
.ends{display:flex;justify-content:space-between}
table{border-collapse:collapse}td,th{padding:.1rem .6rem;border-bottom:1px solid var(--edge);text-align:right}
th button{font:inherit;border:0;background:none;cursor:pointer}#all{max-height:32rem;overflow:auto}
@media print{#all{max-height:none}*{print-color-adjust:exact}}
</style>
<h1 id="title"></h1><p id="line"></p>
<p>Each number holds for every length and every input of the head's domain, whatever the layers below compute, in exact
real arithmetic; it says nothing about typical inputs. Maps: a row for each layer, a column for each head. Intervals are
[reached by an input, proved].</p><noscript><p>The maps and tables need JavaScript; softcheck model --json has the same numbers.</p></noscript>
<div id="maps"></div><h2 id="name"></h2><table id="ladder"></table><h2>All heads</h2><div id="all"></div>
<script id="data" type="application/json">)html";

constexpr const char* behind = R"html(</script>
<script>
const data=JSON.parse(document.getElementById('data').textContent),m=data.model,heads=data.heads;
const at=id=>document.getElementById(id),val=x=>x==='inf'?Infinity:x==='-inf'?-Infinity:x;
const make=(tag,text,to)=>{const e=document.createElement(tag);if(text!==undefined)e.textContent=text;if(to)to.append(e);return e};
const show=x=>x===null?'none':typeof x==='number'?String(+x.toPrecision(6)):Array.isArray(x)?'['+x.map(show).join(', ')+']':String(x);
const id=h=>'head-'+h.layer+'-'+h.head,up=x=>val(x[1]);
const reached=h=>up(h.spread.best)===0?1:val(h.spread.best[0])/up(h.spread.best);
const fields=[['spread',h=>up(h.spread.best)],['max |logit|',h=>up(h.logit)],['log10 N(eps)',h=>up(h.dispersion_length_log10)],['reached',reached]];
const stops=[[0,34,78],[87,93,109],[165,156,116],[254,232,56]];
const colour=t=>{t=Math.min(1,Math.max(0,t))*3;const i=Math.min(2,Math.floor(t)),f=t-i;return 'rgb('+stops[i].map((c,k)=>Math.round(c+f*(stops[i+1][k]-c))).join()+')'};
at('title').textContent=m.path;
at('line').textContent=m.architecture+' ('+m.format+'): '+m.layers+' layers, '+m.heads+' heads, width '+m.hidden+', head width '+m.head_dim+', context '+m.context+(heads.length<m.heads?'; '+heads.length+' heads certified':'');
const layers=[...new Set(heads.map(h=>h.layer))],columns=Math.max(1,...heads.map(h=>h.head+1));
for(const [name,f] of fields){
 const box=make('section',undefined,at('maps'));make('h3',name,box);
 const map=make('div',undefined,box);map.className='map';map.style.gridTemplateColumns='repeat('+columns+',1fr)';
 const v=heads.map(f).filter(Number.isFinite),share=name==='reached',low=share?0:Math.min(...v),high=share?1:Math.max(...v);
 // One wide head would make all others look alike: colours follow the logarithm where all values are positive.
 const logs=!share&&low>0,scale=x=>logs?Math.log(x):x,middle=logs?Math.sqrt(low*high):(low+high)/2;
 for(const h of heads){const b=make('button',undefined,map),x=f(h);b.dataset.head=id(h);b.style.background=colour(high>low?(scale(x)-scale(low))/(scale(high)-scale(low)):share?x:0);
  b.style.gridRow=layers.indexOf(h.layer)+1;b.style.gridColumn=h.head+1;b.title=h.layer+'.'+h.head+': '+show(x);b.setAttribute('aria-label',name+' of head '+b.title);b.onclick=()=>{location.hash=id(h);choose(h)}}
 make('div',undefined,box).className='bar';const ends=make('div',undefined,box);ends.className='ends';
 for(const x of [low,middle,high])make('span',show(x),ends)}
function choose(h){at('name').textContent='Head '+h.layer+'.'+h.head;const t=at('ladder');t.replaceChildren();
 const row=(k,v)=>{const r=make('tr',undefined,t);make('th',k,r);make('td',show(v),r)};
 for(const k in h.spread)row('spread, '+k,h.spread[k]);row('reached',reached(h));
 for(const k of ['logit','logit_enumerated','score','dispersion_length_log10','entropy_floor','largest_coefficient','identity_length_log10','items','window','sink','domain'])if(k in h)row(k,h[k]);
 for(const k in h.overflow)row((k.endsWith('_scaled')?'logit in ':'q.k in ')+k.replace('_scaled',''),h.overflow[k]?'fits':'may overflow');
 for(const b of document.querySelectorAll('.map button'))b.classList.toggle('chosen',b.dataset.head===id(h))}
let by=0,down=true;
function table(){at('all').replaceChildren();const t=make('table',undefined,at('all')),r=make('tr',undefined,t);make('th','head',r);
 fields.forEach(([n],i)=>{const b=make('button',n,make('th',undefined,r));b.onclick=()=>{down=by===i?!down:true;by=i;table()}});
 const f=fields[by][1];for(const h of [...heads].sort((a,b)=>(down?1:-1)*(f(b)-f(a)))){const r=make('tr',undefined,t),a=make('a',h.layer+'.'+h.head,make('td',undefined,r));a.href='#'+id(h);for(const [,g] of fields)make('td',show(g(h)),r)}}
const go=()=>{const h=heads.find(h=>'#'+id(h)===location.hash)||heads[0];if(h)choose(h)};
table();go();onhashchange=go;
</script>
</html>
)html";

}  // namespace

std::string to_html(const CheckpointReport& report) {
  std::string page = before;
  for (const char c : to_json(report, "")) {
    // Within a script element only '<' can end the data; a path may hold one.
    if (c == '<') {
      page += "\\u003c";
    } else {
      page += c;
    }
  }
  return page + behind;
}

}  // namespace softcheck::models
